/** Whose account a command means. */
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import { AGENT_ISSUER } from "../people/agent-tokens.ts";
import { PEOPLE_ISSUER } from "../people/people.ts";
import { principalKey } from "../people/principal.ts";
import { type AccountPrincipal, accountPrincipal, DEPLOYMENT } from "../signin/authorize.ts";
import type { Store } from "../store/database.ts";

export interface Owner {
  /** Name of an agent. */
  agent?: string;
  /** Username of a person. */
  person?: string;
}

/**
 * The owner of an account: the deployment, or where each user has one, the agent or person that is named.
 * @throws JackfieldError `not_found` where there is no such agent or person, or none is named and one is needed
 */
export async function accountOwner(
  store: Store,
  connection: ServedConnection,
  { agent, person }: Owner,
): Promise<AccountPrincipal> {
  if (connection.subject !== "user") return DEPLOYMENT;
  const owner = agent === undefined ? await personOf(store, person) : await agentOf(store, connection, agent);
  if (owner !== undefined) return accountPrincipal(connection, owner);
  const text =
    (agent ?? person) === undefined
      ? `Each user of ${connection.slug} has an account of their own: name whose with --agent or --person.`
      : `There is no ${agent === undefined ? "person" : "agent"} ${agent ?? person}.`;
  throw new JackfieldError("not_found", { text });
}

async function agentOf(
  store: Store,
  { organizationId }: ServedConnection,
  name: string,
): Promise<AccountPrincipal | undefined> {
  const row = await store.models.agents.findOne({ where: { organizationId, name } });
  return row ? principal(AGENT_ISSUER, row.id) : undefined;
}

async function personOf(store: Store, username: string | undefined): Promise<AccountPrincipal | undefined> {
  if (username === undefined) return undefined;
  const row = await store.models.people.findOne({ where: { username } });
  return row ? principal(PEOPLE_ISSUER, row.id) : undefined;
}

const principal = (issuer: string, subject: string): AccountPrincipal => ({
  key: principalKey(issuer, subject),
  issuer,
  subject,
});
