/** `client list` and `client revoke`: the chat clients that people connected. */

import type { Command } from "commander";
import type { ConnectedClients } from "../oauth/connected-clients.ts";
import { createConnectedClients } from "../oauth/connected-clients.ts";
import { createConsents } from "../oauth/consents.ts";
import { createGrants } from "../oauth/grants.ts";
import { createAudit } from "../observe/audit.ts";
import { OPERATOR } from "../people/permissions.ts";
import type { CliIo } from "./io.ts";
import { moment, oneLine, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addClientList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("list the clients that people connected")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withClients(io, options, async (clients, organizationId) => {
        const rows = await clients.list(OPERATOR, organizationId);
        if (options.json) return printJson(io, rows);
        printTable(
          io,
          ["ID", "CLIENT", "PERSON", "ENDPOINT", "SCOPES", "SINCE", "LAST USED"],
          rows.map(({ id, name, clientId, person, endpoint, scopes, createdAt, lastUsedAt }) => [
            ...[id, oneLine(name || clientId, 32), person.username, endpoint, scopes.join(",")],
            ...[moment(createdAt), moment(lastUsedAt)],
          ]),
          "Nobody has connected a client.",
        );
      }),
    );
}

export function addClientRevoke(parent: Command, io: CliIo): void {
  parent
    .command("revoke")
    .description("disconnect a client; a running server refuses it within a second")
    .argument("<id>", "id of a connected client")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((id: string, options: Options) =>
      withClients(io, options, async (clients, organizationId) => {
        await clients.revoke(OPERATOR, organizationId, id);
        if (options.json) return printJson(io, { revoked: id });
        io.out("Disconnected. Its person is asked again when it comes back.\n");
      }),
    );
}

async function withClients(
  io: CliIo,
  options: Options,
  work: (clients: ConnectedClients, organizationId: string) => Promise<void>,
): Promise<void> {
  await withWorkplace(io, async ({ store, keyring, shared, log }) => {
    const organization = await organizationOf(store, options.organization);
    const audit = createAudit({ store, keyring, log, clock: Date.now });
    const grants = createGrants({ store, bus: shared.bus, clock: Date.now, onEnd: () => undefined });
    const consents = createConsents({ store, clock: Date.now });
    try {
      await work(createConnectedClients({ store, grants, consents, audit }), organization.id);
    } finally {
      await audit.close();
    }
  });
}
