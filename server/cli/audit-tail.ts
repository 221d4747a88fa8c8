/** `audit tail`: the newest calls and refusals, oldest first. */

import type { Command } from "commander";
import { createAudit } from "../observe/audit.ts";
import type { CliIo } from "./io.ts";
import { parseCount } from "./options.ts";
import { oneLine, printTable } from "./output.ts";
import { organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  limit: number;
  organization?: string;
  json?: boolean;
}

export function addAuditTail(parent: Command, io: CliIo): void {
  parent
    .command("tail")
    .description("show the newest calls and refusals")
    .option("-n, --limit <count>", "how many", parseCount, 50)
    .option("--organization <slug>", "only of this organization")
    .option("--json", "print one JSON object to a line")
    .action((options: Options) =>
      withWorkplace(io, async ({ store, keyring, log }) => {
        const organization = options.organization ? await organizationOf(store, options.organization) : undefined;
        const audit = createAudit({ store, keyring, log, clock: Date.now });
        try {
          const events = await audit.tail({
            limit: options.limit,
            ...(organization && { organizationId: organization.id }),
          });
          if (options.json) {
            for (const event of events) io.out(`${JSON.stringify(event)}\n`);
            return;
          }
          printTable(
            io,
            ["AT", "WHO", "ENDPOINT", "TOOL", "CLASS", "DECISION", "OUTCOME", "MS"],
            events.map((event) => [
              event.at.toISOString(),
              oneLine(event.principalName, 24),
              event.endpointSlug ?? "-",
              oneLine(event.toolName ?? event.door, 48),
              event.class ?? "-",
              event.rule ? `${event.decision} (${oneLine(event.rule, 40)})` : event.decision,
              event.outcomeCode ? `${event.outcome} (${event.outcomeCode})` : event.outcome,
              String(event.durationMs ?? "-"),
            ]),
            "Nothing was called yet.",
          );
        } finally {
          await audit.close();
        }
      }),
    );
}
