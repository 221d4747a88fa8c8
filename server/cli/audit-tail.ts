/** `audit tail`: the newest calls and refusals, oldest first. */

import type { Command } from "commander";
import { queryAudit } from "../observe/audit-query.ts";
import { type FilterOptions, filterOf, printEvents, printJsonLines, withFilter } from "./audit-filter.ts";
import type { CliIo } from "./io.ts";
import { parseCount } from "./options.ts";
import { withWorkplace } from "./workplace.ts";

interface Options extends FilterOptions {
  limit: number;
  json?: boolean;
}

export function addAuditTail(parent: Command, io: CliIo): void {
  withFilter(
    parent
      .command("tail")
      .description("show the newest calls and refusals, the newest last")
      .option("-n, --limit <count>", "how many", parseCount, 50),
  )
    .option("--json", "print one JSON object to a line")
    .action((options: Options) =>
      withWorkplace(io, async ({ store }) => {
        const page = { limit: options.limit, order: "newest_first" } as const;
        const { events } = await queryAudit(store, await filterOf(store, options), page);
        if (options.json) printJsonLines(io, events.reverse());
        else printEvents(io, events.reverse(), "Nothing was called yet.");
      }),
    );
}
