/** `audit query`: calls and refusals by who, with what, where and when, a page at a time. */

import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { isUlid, queryAudit } from "../observe/audit-query.ts";
import { type FilterOptions, filterOf, printEvents, withFilter } from "./audit-filter.ts";
import type { CliIo } from "./io.ts";
import { parseCount } from "./options.ts";
import { printJson } from "./output.ts";
import { withWorkplace } from "./workplace.ts";

interface Options extends FilterOptions {
  limit: number;
  after?: string;
  oldestFirst?: boolean;
  json?: boolean;
}

export function addAuditQuery(parent: Command, io: CliIo): void {
  withFilter(
    parent
      .command("query")
      .description("search calls and refusals, the newest first")
      .option("-n, --limit <count>", "how many to a page", parseCount, 50)
      .option("--after <cursor>", "the page that follows one with this cursor", parseCursor)
      .option("--oldest-first", "the oldest first"),
  )
    .option("--json", "print JSON: events, and next where there are more")
    .action((options: Options) =>
      withWorkplace(io, async ({ store }) => {
        const answer = await queryAudit(store, await filterOf(store, options), {
          limit: options.limit,
          order: options.oldestFirst ? "oldest_first" : "newest_first",
          ...(options.after !== undefined && { after: options.after }),
        });
        if (options.json) {
          printJson(io, answer);
          return;
        }
        printEvents(io, answer.events, "Nothing fits.");
        if (answer.next !== undefined) io.out(`\nMore: the same with --after ${answer.next}\n`);
      }),
    );
}

function parseCursor(text: string): string {
  if (!isUlid(text)) throw new InvalidArgumentError("Give the cursor that the page before ended with.");
  return text;
}
