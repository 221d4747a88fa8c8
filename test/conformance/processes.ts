/** Child processes with an end: every one has a limit, and is ended together with its own children. */

import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";

export interface ProcessOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Receives stdout and stderr as they come. */
  readonly logFile: string;
  /** Ends the process early. */
  readonly signal: AbortSignal;
}

/** How a process ended; `stdout` is all it wrote there. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly timedOut: boolean;
}

/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 10_000;

/** Starts a process in a group of its own, with no stdin. `stop` ends the group and waits until it is gone. */
export function startProcess(command: string, args: readonly string[], options: ProcessOptions) {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(options.logFile, { flags: "a" });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => log.end(() => resolve(code)));
  });

  const stop = async (): Promise<void> => {
    signalGroup(child, "SIGTERM");
    const kill = setTimeout(() => signalGroup(child, "SIGKILL"), GRACE_MS);
    await closed.catch(() => null);
    clearTimeout(kill);
    // Whatever the leader left behind in its group.
    signalGroup(child, "SIGKILL");
  };
  const onAbort = (): void => void stop();
  options.signal.addEventListener("abort", onAbort, { once: true });
  closed.catch(() => null).finally(() => options.signal.removeEventListener("abort", onAbort));
  if (options.signal.aborted) onAbort();

  return { child, closed, stop };
}

/** Runs a process to its end, or to `limitMs`. Rejects where it cannot be started. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions & { readonly limitMs: number },
): Promise<Ended> {
  const { child, closed, stop } = startProcess(command, args, options);
  let stdout = "";
  let timedOut = false;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  const limit = setTimeout(() => {
    timedOut = true;
    void stop();
  }, options.limitMs);
  try {
    return { code: await closed, stdout, timedOut };
  } finally {
    clearTimeout(limit);
    signalGroup(child, "SIGKILL");
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // ESRCH: the whole group has ended, which is what was asked for.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
