/** `connection check`: asks the service now. */

import type { Command } from "commander";
import { checkConnection } from "../connections/check.ts";
import { JackfieldError } from "../errors.ts";
import { readerOf } from "../signin/reader.ts";
import { servedConnectionOf, withConnections } from "./connection-desk.ts";
import type { CliIo } from "./io.ts";
import { oneLine, printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  environment?: string;
  organization: string;
  json?: boolean;
}

export function addConnectionCheck(parent: Command, io: CliIo): void {
  parent
    .command("check")
    .description("ask the service whether it works, with a session of its own")
    .argument("<slug>", "the connection")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--environment <slug>", "environment that owns it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withConnections(io, async (desk) => {
        const health = await checkConnection(
          { ...desk, readerOf: readerOf(desk.accounts) },
          await servedConnectionOf(desk, slug, options),
        );
        if (options.json) printJson(io, { slug, ...health });
        if (health.state === "unhealthy") {
          const code = health.code === undefined ? "" : ` (${health.code})`;
          const text = `${slug} does not work${code}: ${oneLine(health.message, 500) || "no reason given"}`;
          throw new JackfieldError("upstream_unreachable", { text });
        }
        if (options.json) return;
        const says = health.message ? ` ${oneLine(health.message, 500)}` : "";
        io.out(health.state === "healthy" ? `${slug} works.${says}\n` : `${slug} cannot be tested.${says}\n`);
      }),
    );
}
