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
        const { changed, added, updated, gone } = result;
        const counts = `${added} added, ${updated} updated, ${gone} gone`;
        io.out(`${slug}: ${changed ? counts : "nothing changed"}.\n`);
      }),
    );
}
