/** What a child writes to stderr, in our log, bounded: a server in a loop must not fill a disk. */
import type { Readable } from "node:stream";
import type { Log } from "../contract.ts";

const MAX_LINE = 2_000;
const MAX_LINES_PER_MINUTE = 200;
const MINUTE = 60_000;

/** Logs lines at debug, at most 200 a minute of 2,000 characters; what was left out is counted. */
export function logStderr(stream: Readable, log: Log, clock: () => number): { lastLine(): string } {
  let rest = "";
  let last = "";
  let windowStart = clock();
  let lines = 0;
  let skipped = 0;
  const line = (text: string) => {
    const clean = text.trimEnd().slice(0, MAX_LINE);
    if (clean === "") return;
    last = clean;
    if (clock() - windowStart >= MINUTE) {
      if (skipped > 0) log.warn({ skipped }, "lines of stderr were left out");
      windowStart = clock();
      lines = 0;
      skipped = 0;
    }
    lines += 1;
    if (lines <= MAX_LINES_PER_MINUTE) log.debug({ stderr: clean }, "stderr");
    else if (skipped++ === 0) log.warn({ limit: MAX_LINES_PER_MINUTE }, "too much on stderr; the rest is left out");
  };
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = (parts.pop() ?? "").slice(0, MAX_LINE);
    for (const part of parts) line(part);
  });
  stream.on("end", () => line(rest));
  stream.on("error", () => undefined);
  return { lastLine: () => last };
}
