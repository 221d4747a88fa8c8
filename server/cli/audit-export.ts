/** `audit export`: every event that fits as JSON lines, oldest first, however many there are. */

import type { Command } from "commander";
import { eachAuditEvent } from "../observe/audit-query.ts";
import { type FilterOptions, filterOf, printJsonLines, withFilter } from "./audit-filter.ts";
import type { CliIo } from "./io.ts";
import { withWorkplace } from "./workplace.ts";

export function addAuditExport(parent: Command, io: CliIo): void {
  withFilter(parent.command("export").description("print all calls and refusals that fit, one JSON object to a line"))
    // Accepted like everywhere; there is no other form.
    .option("--json", "print one JSON object to a line (what it does anyway)")
    .action((options: FilterOptions) =>
      withWorkplace(io, async ({ store }) => {
        for await (const event of eachAuditEvent(store, await filterOf(store, options))) {
          printJsonLines(io, [event]);
          if (!(await io.taken())) return;
        }
      }),
    );
}
