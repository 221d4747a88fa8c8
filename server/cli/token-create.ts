/** `token create`: a bearer token for an agent or a person's own programs, shown this once. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { createAgentTokens } from "../people/agent-tokens.ts";
import { PERMISSIONS, type Permission } from "../people/permissions.ts";
import type { Scope } from "../people/principal.ts";
import type { CliIo } from "./io.ts";
import { collectVariable, parseList, parseSpan } from "./options.ts";
import { moment, printJson } from "./output.ts";
import { DEFAULT_ENDPOINT, endpointIdsOf, FIRST_ORGANIZATION, memberOf, organizationOf } from "./tokens.ts";
import { withWorkplace } from "./workplace.ts";

const SCOPES: readonly Scope[] = ["mcp:read", "mcp:write", "mcp:pair"];

interface Options {
  name: string;
  endpoint?: string[];
  scopes: Scope[];
  permissions: Permission[];
  var: Record<string, string>;
  network?: string[];
  for?: string;
  /** Milliseconds; Infinity for never. */
  expires: number;
  testing?: boolean;
  organization: string;
  json?: boolean;
}

function parseScopes(text: string): Scope[] {
  const scopes = parseKnown(text, SCOPES, "scope");
  if (scopes.length === 0) throw new InvalidArgumentError("Name at least one scope.");
  return scopes;
}

function parsePermissions(text: string): Permission[] {
  return parseKnown(text, PERMISSIONS, "permission");
}

function parseKnown<T extends string>(text: string, known: readonly T[], what: string): T[] {
  return parseList(text).map((item) => {
    const found = known.find((one) => one === item);
    if (found === undefined) throw new InvalidArgumentError(`There is no ${what} ${item}, only ${known.join(", ")}.`);
    return found;
  });
}

function append(slug: string, previous: string[] | undefined): string[] {
  return [...new Set([...(previous ?? []), slug])];
}

export function addTokenCreate(parent: Command, io: CliIo): void {
  parent
    .command("create")
    .description("make a bearer token and show it once")
    .requiredOption("--name <name>", "name of the agent that will use it, or what a person's own is for")
    .option("--for <username>", "make it a person's own: it acts as them, and ends with them")
    .option("--endpoint <slug>", "endpoint it works at (default: default); repeat for several", append)
    .addOption(
      new Option("--scopes <list>", "what it may do")
        .argParser(parseScopes)
        .default(SCOPES.slice(0, 2), "mcp:read,mcp:write"),
    )
    .addOption(
      new Option("--permissions <list>", `what it may at the API, of ${PERMISSIONS.join(", ")}`)
        .argParser(parsePermissions)
        .default([], "none"),
    )
    .option("--network <cidr>", "address or network that it may come from (default: anywhere); repeat", append)
    .option("--var <name=value>", "session variable for guards; repeat for several", collectVariable, {})
    .addOption(
      new Option("--expires <span>", "such as 90d or 12h, or never")
        .argParser(parseSpan)
        .default(parseSpan("90d"), "90d"),
    )
    .option("--testing", "let it see the drafts of environments, to try them before they are published")
    .option("--organization <slug>", "organization it belongs to", FIRST_ORGANIZATION)
    .option("--json", "print JSON")
    .action((options: Options) =>
      withWorkplace(io, async (workplace) => {
        const { store, shared } = workplace;
        const organization = await organizationOf(store, options.organization);
        const endpoints = options.endpoint ?? [DEFAULT_ENDPOINT];
        const tokens = createAgentTokens({ store, bus: shared.bus, clock: Date.now });
        const expiresAt = Number.isFinite(options.expires) ? new Date(Date.now() + options.expires) : undefined;
        const { token, id } = await tokens.create({
          organizationId: organization.id,
          name: options.name,
          endpointIds: await endpointIdsOf(workplace, organization, endpoints, io.env),
          scopes: options.scopes,
          permissions: options.permissions,
          variables: options.var,
          ...(options.network && { allowedNetworks: options.network }),
          ...(options.for !== undefined && { personId: await memberOf(store, organization, options.for) }),
          ...(expiresAt && { expiresAt }),
          ...(options.testing === true && { testing: true }),
          createdBy: "cli",
        });
        if (options.json) {
          const { name, scopes } = options;
          printJson(io, { token, id, name, endpoints, scopes, expiresAt: expiresAt ?? null });
          return;
        }
        io.out(`${token}\n`);
        io.out(
          `It is shown only now. Expires: ${expiresAt ? moment(expiresAt) : "never"}. Revoke: token revoke ${id}\n`,
        );
      }),
    );
}
