/** `connection review`: shows the tool definitions that wait for a person, and accepts those that a pattern names. */

import type { Command } from "commander";
import { type ReviewItem, reviewConnection } from "../connections/review.ts";
import { JackfieldError } from "../errors.ts";
import { connectionOf } from "./connections.ts";
import type { CliIo } from "./io.ts";
import { oneLine, printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  environment?: string;
  accept?: string;
  organization: string;
  json?: boolean;
}

export function addConnectionReview(parent: Command, io: CliIo): void {
  parent
    .command("review")
    .description("show new and changed tools with the difference, and accept them")
    .argument("<slug>", "the connection")
    .option("--accept <pattern>", "accept what this pattern over the service's own tool names matches")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--environment <slug>", "environment that owns it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withWorkplace(io, async ({ store, shared }) => {
        const { accept } = options;
        const { id } = await connectionOf(store, slug, options);
        const items = await reviewConnection({ store, bus: shared.bus }, id, {
          by: "cli",
          ...(accept !== undefined && { accept }),
        });
        const accepted = items.filter((item) => item.accepted);
        if (options.json) printJson(io, items);
        else for (const line of items.flatMap(describe)) io.out(`${line}\n`);
        if (accept !== undefined && accepted.length === 0 && items.length > 0) {
          throw new JackfieldError("not_found", { text: `Nothing that waits matches ${accept}.` });
        }
        if (options.json) return;
        if (items.length === 0) io.out(`Nothing of ${slug} waits for review.\n`);
        else io.out(`${accepted.length} accepted, ${items.length - accepted.length} waiting.\n`);
      }),
    );
}

function describe(item: ReviewItem): string[] {
  const what = item.state === "pending" ? "new" : "changed";
  const head = `${item.accepted ? "accepted" : "waiting"}  ${item.name}  (${what})`;
  const lines = item.difference.flatMap(({ path, before, after }) => [
    ...(before === undefined ? [] : [`  - ${path}: ${shown(before)}`]),
    ...(after === undefined ? [] : [`  + ${path}: ${shown(after)}`]),
  ]);
  if (Array.isArray(item.findings) && item.findings.length > 0) lines.push(`  ! removed: ${shown(item.findings)}`);
  return [head, ...lines];
}

/** A stranger's text must not move the cursor or hide its end: one line, control characters out. */
function shown(value: unknown): string {
  return oneLine(typeof value === "string" ? value : JSON.stringify(value), 2000);
}
