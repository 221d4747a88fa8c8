/** `connection list`: what is published, and what was last seen of each service. */

import type { Command } from "commander";
import { publishedConnections } from "./connections.ts";
import type { CliIo } from "./io.ts";
import { moment, oneLine, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addConnectionList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("list the connections, their health and how many tools they have")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withWorkplace(io, async ({ store }) => {
        const connections = await publishedConnections(store, options.organization);
        const tools = await store.models.tools.findAll({ attributes: ["connectionId", "state"] });
        const rows = connections.map(({ id, slug, environment, type, label, source, state }) => {
          const own = tools.filter((tool) => tool.connectionId === id);
          const count = (name: string) => own.filter((tool) => tool.state === name).length;
          return {
            slug,
            environment,
            type,
            label,
            source,
            health: state?.health ?? "untested",
            message: state?.loadErrorMessage ?? state?.healthMessage ?? null,
            catalogueAt: state?.catalogueAt ?? null,
            tools: { approved: count("approved"), pending: count("pending"), changed: count("changed") },
          };
        });
        if (options.json) return printJson(io, rows);
        printTable(
          io,
          ["SLUG", "ENVIRONMENT", "TYPE", "HEALTH", "TOOLS", "TO REVIEW", "FETCHED", "SAYS"],
          rows.map((row) => [
            row.slug,
            row.environment,
            row.type,
            row.health,
            String(row.tools.approved),
            String(row.tools.pending + row.tools.changed),
            moment(row.catalogueAt),
            oneLine(row.message),
          ]),
          "No connection is published. Declare one in connections/<slug>.yml and start the server.",
        );
      }),
    );
}
