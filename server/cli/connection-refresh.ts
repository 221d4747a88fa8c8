/** `connection refresh`: fetches tools, prompts and resources again and stores them. */

import type { Command } from "commander";
import { JackfieldError } from "../errors.ts";
import { servedConnectionOf, withConnections } from "./connection-desk.ts";
import type { CliIo } from "./io.ts";
import { oneLine, printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  environment?: string;
  organization: string;
  json?: boolean;
}

const MOST_NAMED = 20;

export function addConnectionRefresh(parent: Command, io: CliIo): void {
  parent
    .command("refresh")
    .description("fetch a connection's tools, prompts and resources again")
    .argument("<slug>", "the connection")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--environment <slug>", "environment that owns it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withConnections(io, async (desk) => {
        const result = await desk.catalogue.refresh(await servedConnectionOf(desk, slug, options));
        if (options.json) printJson(io, { slug, ...result });
        if (!result.ok) {
          const text = `${slug} could not be read (${result.code}): ${oneLine(result.message, 500)}`;
          throw new JackfieldError("upstream_unreachable", { text });
        }
        if (options.json) return;
        const { added, updated, gone } = result.tools;
        const counts = `${added.length} added, ${updated.length} updated, ${gone.length} gone`;
        io.out(`${slug}: ${result.changed ? counts : "nothing changed"}.\n`);
        const lists = { added, updated, gone };
        for (const [what, names] of Object.entries(lists)) {
          for (const name of names.slice(0, MOST_NAMED)) io.out(`  ${what}  ${name}\n`);
          if (names.length > MOST_NAMED) io.out(`  ${what}  and ${names.length - MOST_NAMED} more\n`);
        }
      }),
    );
}
