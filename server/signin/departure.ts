/** What becomes of the accounts of somebody who leaves an organization. */
import type { Registry } from "../connections/registry.ts";
import { AGENT_ISSUER } from "../people/agent-tokens.ts";
import { personKey } from "../people/people.ts";
import { principalKey } from "../people/principal.ts";
import type { Store } from "../store/database.ts";
import type { Accounts } from "./accounts.ts";
import { type DisconnectParts, disconnect } from "./disconnect.ts";

export interface DepartureParts extends DisconnectParts {
  readonly accounts: Pick<Accounts, "find" | "tokens" | "end" | "remove">;
  readonly store: Store;
  readonly registry: Pick<Registry, "connection">;
}

/**
 * Deletes the accounts that a member, and the agents that are their own, have at the connections of an organization;
 * tokens are revoked at the services that offer it. Accounts that everybody shares stay. Returns how many had tokens.
 */
export async function endAccountsOf(parts: DepartureParts, organizationId: string, personId: string): Promise<number> {
  const { store, registry, accounts } = parts;
  const agents = await store.models.agents.findAll({ where: { organizationId, personId } });
  const keys = [personKey(personId), ...agents.map(({ id }) => principalKey(AGENT_ISSUER, id))];
  const rows = await store.models.accounts.findAll({ where: { organizationId, principalKey: keys } });
  let ended = 0;
  for (const { connectionId, principalKey: key, sealedTokens } of rows) {
    if (sealedTokens !== null) ended += 1;
    // One whose connection is not served any more can only be forgotten: nobody knows how to reach its service.
    const connection = registry.connection(connectionId);
    if (connection !== undefined) await disconnect(parts, { connection, principalKey: key });
    await accounts.remove(connectionId, key);
  }
  return ended;
}
