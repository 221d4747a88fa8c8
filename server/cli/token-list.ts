/** `token list`: the tokens of an organization, without what they were made from. */

import type { Command } from "commander";
import { createAgentTokens } from "../people/agent-tokens.ts";
import type { CliIo } from "./io.ts";
import { moment, oneLine, printJson, printTable } from "./output.ts";
import { FIRST_ORGANIZATION, organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

interface Options {
  organization: string;
  json?: boolean;
}

export function addTokenList(parent: Command, io: CliIo): void {
  parent
    .command("list")
    .description("list the tokens, the revoked ones included")
    .option("--organization <slug>", "organization they belong to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withWorkplace(io, async ({ store, shared }) => {
        const organization = await organizationOf(store, options.organization);
        const tokens = await createAgentTokens({ store, bus: shared.bus, clock: Date.now }).list(organization.id);
        const endpoints = await store.models.endpoints.findAll();
        const slugOf = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint.slug]));
        const owners = await store.models.people.findAll({
          where: { id: tokens.flatMap((token) => token.personId ?? []) },
        });
        const usernameOf = new Map(owners.map(({ id, username }) => [id, username]));
        const rows = tokens.map(({ endpointIds, ...token }) => ({
          ...token,
          person: token.personId === null ? null : (usernameOf.get(token.personId) ?? token.personId),
          endpoints: endpointIds.map((id) => slugOf.get(id) ?? id),
          state: stateOf(token),
        }));
        if (options.json) return printJson(io, rows);
        printTable(
          io,
          ["ID", "NAME", "OF", "ENDS IN", "ENDPOINTS", "SCOPES", "EXPIRES", "LAST USED", "FROM", "STATE"],
          rows.map((row) => [
            row.id,
            oneLine(row.name, 32),
            row.person ?? "agent",
            row.last4,
            row.endpoints.join(","),
            [...row.scopes, ...row.permissions, ...(row.testing ? ["drafts"] : [])].join(","),
            row.expiresAt ? moment(row.expiresAt) : "never",
            moment(row.lastUsedAt),
            row.lastUsedIp ?? "-",
            row.state,
          ]),
          "No token yet. Make one with: token create --name NAME",
        );
      }),
    );
}

function stateOf(token: { revokedAt: Date | null; rotatedAt: Date | null; expiresAt: Date | null }): string {
  if (token.revokedAt !== null) return "revoked";
  if (token.rotatedAt !== null && token.expiresAt !== null && token.expiresAt.getTime() > Date.now()) return "rotated";
  return token.expiresAt !== null && token.expiresAt.getTime() <= Date.now() ? "expired" : "active";
}
