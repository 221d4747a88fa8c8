/** Who a stored token stands for now: it lives as long as its owner may, and may as much as its maker. */
import type { Store } from "../store/database.ts";
import type { AgentTokenRow } from "../store/models/agent-tokens.ts";
import { membershipOf } from "./membership.ts";
import { PEOPLE_ISSUER } from "./people.ts";
import { may, PERMISSIONS, type Permission, type Role } from "./permissions.ts";
import { clientKey, type Principal, parseScopes, principalKey } from "./principal.ts";
import { personVariables } from "./principal-variables.ts";

/** Issuer of agents' principals; their subject is the agent's id. */
export const AGENT_ISSUER = "urn:jackfield:agents";

/** Whoever holds a token. */
export interface TokenHolder {
  readonly principal: Principal;
  /** What it may at the API. */
  readonly permissions: ReadonlySet<Permission>;
  /** Of the person whose own token it is. */
  readonly role: Role | undefined;
}

/** What a drafted policy grants is its authors' to try: a token of theirs may too. */
export const TESTS: Permission = "connections:write";

/** Undefined where the token has ended, or its owner may not sign in any more. Asks the store. */
export async function holderOf(store: Store, row: AgentTokenRow, now: number): Promise<TokenHolder | undefined> {
  if (row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt.getTime() <= now)) return undefined;
  const own = row.personId === null ? await agentOf(store, row) : await personOf(store, row, row.personId);
  if (own === undefined) return undefined;
  const maker = await makerOf(store, row);
  const principal: Principal = {
    kind: "agent",
    organizationId: row.organizationId,
    scopes: parseScopes(row.scopes),
    tokenId: row.id,
    clientKey: clientKey(row.id),
    endpointIds: Object.freeze(row.endpointIds),
    ...own.principal,
    ...(row.testing === 1 && makerMay(maker, TESTS) ? { testing: true } : {}),
  };
  const { role } = own;
  return { principal: Object.freeze(principal), permissions: permissionsNow(row, maker), role };
}

/** The permissions that a row names, whatever its maker may. */
export function permissionsOf(text: string | null): Set<Permission> {
  const words = new Set(text?.split(" "));
  return new Set(PERMISSIONS.filter((permission) => words.has(permission)));
}

type Own = Pick<Principal, "issuer" | "subject" | "name" | "key" | "variables" | "membership">;

async function agentOf(
  store: Store,
  row: AgentTokenRow,
): Promise<{ principal: Own; role: Role | undefined } | undefined> {
  const agent = await store.models.agents.findByPk(row.agentId);
  if (agent === null) return undefined;
  const { id: subject, name } = agent;
  const names = { issuer: AGENT_ISSUER, subject, name, key: principalKey(AGENT_ISSUER, subject) };
  return { principal: { ...names, variables: Object.freeze(row.variables) }, role: undefined };
}

async function personOf(
  store: Store,
  row: AgentTokenRow,
  personId: string,
): Promise<{ principal: Own; role: Role | undefined } | undefined> {
  const person = await store.models.people.findOne({ where: { id: personId, disabledAt: null } });
  const membership = person === null ? undefined : await membershipOf(store, row.organizationId, person);
  if (person === null || membership === undefined) return undefined;
  // What we say about the person wins over what a token was given.
  const variables = { ...row.variables, ...(await personVariables(store, person, null)) };
  const names = { issuer: PEOPLE_ISSUER, subject: personId, name: person.name };
  const key = principalKey(PEOPLE_ISSUER, personId);
  return { principal: { ...names, key, variables: Object.freeze(variables), membership }, role: membership.role };
}

/** The role of whoever made a token; `operator` for the command line, which may everything and stays. */
type Maker = Role | "operator" | undefined;

async function makerOf({ models }: Store, row: AgentTokenRow): Promise<Maker> {
  const { creatorId, organizationId } = row;
  if (creatorId === null) return "operator";
  // Most tokens only call tools, and what they may there does not hang on their maker.
  if (row.permissions === null && row.testing === null) return undefined;
  const creator = await models.people.findOne({ where: { id: creatorId, disabledAt: null } });
  const member = creator && (await models.members.findOne({ where: { organizationId, personId: creatorId } }));
  return member?.role;
}

function makerMay(maker: Maker, permission: Permission): boolean {
  return maker === "operator" || may(maker, permission);
}

/** Never more than its maker may at this moment. */
function permissionsNow({ permissions }: AgentTokenRow, maker: Maker): ReadonlySet<Permission> {
  return new Set([...permissionsOf(permissions)].filter((permission) => makerMay(maker, permission)));
}
