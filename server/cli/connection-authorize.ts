/** `connection authorize`: prints the page at which somebody signs in to a connection. */
import type { Command } from "commander";
import { publicOrigin } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { signInUrl, whyNoSignIn } from "../signin/authorize.ts";
import { createTickets } from "../signin/ticket.ts";
import { accountOwner } from "./account-owner.ts";
import { servedConnectionOf, withConnections } from "./connection-desk.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  agent?: string;
  environment?: string;
  organization: string;
  json?: boolean;
}

export function addConnectionAuthorize(parent: Command, io: CliIo): void {
  parent
    .command("authorize")
    .description("print the page at which somebody signs in to a connection; it works for an hour")
    .argument("<slug>", "the connection")
    .option("--agent <name>", "the agent whose account it is, where each user has one; else whoever opens the page")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--environment <slug>", "environment that owns it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withConnections(io, async (desk) => {
        const connection = await servedConnectionOf(desk, slug, options);
        const reason = whyNoSignIn(connection);
        if (reason !== undefined) throw new JackfieldError("not_found", { text: reason });
        const { config, keyring, store } = desk;
        const owner = options.agent === undefined ? undefined : await accountOwner(store, connection, options);
        const links = { tickets: createTickets(keyring, Date.now), publicUrl: () => publicOrigin(config) };
        const url = signInUrl(links, connection, owner);
        if (options.json) return printJson(io, { slug, url });
        io.out(`${url}\n`);
      }),
    );
}
