/** Everything about people that the server and the command line open alike. */
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import { createInvitations, type Invitations } from "./invitations.ts";
import { createMembers, type Members, type OtherAccess } from "./members.ts";
import { createOneTimeLinks, type OneTimeLinks } from "./one-time-links.ts";
import type { Passwords } from "./password.ts";
import type { WebSessions } from "./web-sessions.ts";

export interface People {
  readonly members: Members;
  readonly invitations: Invitations;
  readonly links: OneTimeLinks;
}

export interface PeopleOptions {
  readonly store: Store;
  readonly audit: Audit;
  readonly sessions: Pick<WebSessions, "endAll">;
  readonly passwords: Passwords;
  readonly other: OtherAccess;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function openPeople(options: PeopleOptions): People {
  const links = createOneTimeLinks(options);
  return {
    links,
    members: createMembers(options),
    invitations: createInvitations({ ...options, links, changed: (personId) => options.other.changed(personId) }),
  };
}
