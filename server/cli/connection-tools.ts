/** `connection tools`: the stored tools of a connection, with what its access rules make of them. */

import type { Command } from "commander";
import { accessOf } from "../access/classes.ts";
import { connectionOf } from "./connections.ts";
import type { CliIo } from "./io.ts";
import { oneLine, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  organization: string;
  environment?: string;
  json?: boolean;
}

export function addConnectionTools(parent: Command, io: CliIo): void {
  parent
    .command("tools")
    .description("list a connection's tools with class and review state")
    .argument("<slug>", "the connection")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--environment <slug>", "environment that owns it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withWorkplace(io, async ({ store }) => {
        const connection = await connectionOf(store, slug, options);
        const access = accessOf(connection.config.access);
        const tools = await store.models.tools.findAll({
          where: { connectionId: connection.id },
          order: [["position", "ASC"]],
        });
        const rows = tools
          .filter((tool) => tool.state !== "gone")
          .map((tool) => {
            const definition = tool.reviewedDefinition ?? tool.definition;
            const toolClass = access.classOf(tool.upstreamName, definition.annotations);
            return {
              name: tool.name,
              action: tool.upstreamName,
              class: toolClass ?? "unclassified",
              approval: toolClass === undefined ? "none" : access.approvalOf(tool.upstreamName, toolClass),
              state: tool.state,
              description: definition.description ?? null,
            };
          });
        if (options.json) return printJson(io, rows);
        printTable(
          io,
          ["NAME", "CLASS", "APPROVAL", "STATE", "DESCRIPTION"],
          rows.map((row) => [row.name, row.class, row.approval, row.state, oneLine(row.description, 80)]),
          `No tool of ${slug} is stored. Fetch them with: connection refresh ${slug}`,
        );
      }),
    );
}
