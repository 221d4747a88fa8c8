/** `connection disconnect`: ends an account, here and at the service where it lets us. */
import type { Command } from "commander";
import { disconnect } from "../signin/disconnect.ts";
import { accountOwner } from "./account-owner.ts";
import { servedConnectionOf, withConnections } from "./connection-desk.ts";
import type { CliIo } from "./io.ts";
import { printJson } from "./output.ts";
import { FIRST_ORGANIZATION } from "./tokens.ts";

interface Options {
  agent?: string;
  person?: string;
  all?: boolean;
  json?: boolean;
  environment?: string;
  organization: string;
}

export function addConnectionDisconnect(parent: Command, io: CliIo): void {
  parent
    .command("disconnect")
    .description("end the sign-in of a connection; signing in again keeps the account")
    .argument("<slug>", "the connection")
    .option("--agent <name>", "the agent whose account it is, where each user has one")
    .option("--person <username>", "the person whose account it is, where each user has one")
    .option("--all", "every account of the connection")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--environment <slug>", "environment that owns it")
    .option("--json", "print JSON")
    .action((slug: string, options: Options) =>
      withConnections(io, async (desk) => {
        const { store, accounts, clients, egress, log } = desk;
        const connection = await servedConnectionOf(desk, slug, options);
        const keys = options.all
          ? (await accounts.list(connection.id)).map((account) => account.principalKey)
          : [(await accountOwner(store, connection, options)).key];
        let ended = 0;
        for (const principalKey of keys) {
          const parts = { accounts, clients, egress, clock: Date.now, log };
          if (await disconnect(parts, { connection, principalKey })) ended += 1;
        }
        if (options.json) return printJson(io, { slug, ended });
        const many = ended > 1 ? ` (${ended} accounts)` : "";
        io.out(ended === 0 ? `${slug} was not signed in.\n` : `${slug} is disconnected${many}.\n`);
      }),
    );
}
