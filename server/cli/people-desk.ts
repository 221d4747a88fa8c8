/** What the commands about people need: the same functions as the pages, and the audit that they write to. */

import { JackfieldError } from "../errors.ts";
import { createGrants } from "../oauth/grants.ts";
import { type Audit, createAudit } from "../observe/audit.ts";
import { createAgentTokens } from "../people/agent-tokens.ts";
import { createCookies } from "../people/cookies.ts";
import { openPeople, type People } from "../people/open-people.ts";
import { createPasswords } from "../people/password.ts";
import { plainUsername } from "../people/people.ts";
import { createWebSessions, type WebSessions } from "../people/web-sessions.ts";
import { TOPICS } from "../shared-state/contract.ts";
import { endAccountsOf } from "../signin/departure.ts";
import type { PersonRow } from "../store/models/people.ts";
import { type ConnectionDesk, withConnections } from "./connection-desk.ts";
import type { CliIo } from "./io.ts";

export interface PeopleDesk extends ConnectionDesk, People {
  audit: Audit;
  webSessions: WebSessions;
}

/** Opens the desk, hands it to `work`, and writes what was noted. A running server follows within a second. */
export async function withPeople(io: CliIo, work: (desk: PeopleDesk) => Promise<void>): Promise<void> {
  await withConnections(io, async (desk) => {
    const { store, keyring, shared, registry, accounts, clients, egress, log } = desk;
    const { bus } = shared;
    const clock = Date.now;
    const audit = createAudit({ store, keyring, log, clock });
    const webSessions = createWebSessions({ store, cookies: createCookies(false), clock });
    const grants = createGrants({ store, bus, clock, onEnd: () => undefined });
    const tokens = createAgentTokens({ store, bus, clock });
    const people = openPeople({
      ...{ store, audit, sessions: webSessions, passwords: createPasswords(), clock },
      other: {
        endGrants: (organizationId, personId) => grants.endAll({ organizationId, personId }, "person_removed"),
        endTokens: (organizationId, personId) => tokens.revokeOwn(organizationId, personId),
        endAccounts: (organizationId, personId) =>
          endAccountsOf({ store, registry, accounts, clients, egress, clock, log }, organizationId, personId),
        changed: (personId) => bus.publish(TOPICS.tokens, { personId }),
      },
    });
    try {
      await work({ ...desk, ...people, audit, webSessions });
    } finally {
      await tokens.close();
      await audit.close();
    }
  });
}

/** Whoever has a username, removed ones included. @throws JackfieldError `person_unknown` */
export async function personNamed({ store }: Pick<PeopleDesk, "store">, username: string): Promise<PersonRow> {
  const row = await store.models.people.findOne({ where: { username: plainUsername(username) } });
  if (row !== null) return row.get({ plain: true });
  throw new JackfieldError("person_unknown", { text: `Nobody has the username ${username}. See: people list` });
}
