/** A person changes their own password. */
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import type { Passwords } from "./password.ts";
import { personActor } from "./people.ts";
import { noteChange } from "./people-audit.ts";
import type { SignIn } from "./sign-in.ts";
import type { SignedIn, WebSessions } from "./web-sessions.ts";

export interface PasswordChangeParts {
  readonly store: Store;
  readonly audit: Audit;
  readonly passwords: Passwords;
  readonly sessions: Pick<WebSessions, "endAll">;
  readonly signIn: Pick<SignIn, "check">;
}

/** `wrong`: the current password is. `limited`: it was guessed at too often from there. */
export type PasswordChange = "changed" | "wrong" | "limited";

/**
 * Sets a new password that was found good enough, and ends every other session of the person. Guesses at the current
 * one count as those at the sign-in page do.
 * @param current undefined where the person has no password yet, and proved who they are only just now
 * Throws `busy`.
 */
export async function changePassword(
  { store, audit, passwords, sessions, signIn }: PasswordChangeParts,
  { person, session, organizationIds }: SignedIn,
  { current, next, address }: { current: string | undefined; next: string; address: string | undefined },
): Promise<PasswordChange> {
  if (current !== undefined) {
    const answer = await signIn.check(person.username, current, address);
    if (answer.kind !== "in") return answer.kind;
  }
  const passwordHash = await passwords.hash(next);
  await store.models.people.update({ passwordHash }, { where: { id: person.id } });
  // Whoever knew the old password may still be signed in somewhere.
  const ended = await sessions.endAll(person.id, session.id);
  for (const organizationId of organizationIds) {
    const reason = `${person.username}; ended: ${ended} other sessions`;
    noteChange(audit, personActor(person), "password_changed", { organizationId, reason });
  }
  return "changed";
}

/** Whether a person can sign in with a password. */
export async function hasPassword(store: Store, personId: string): Promise<boolean> {
  const row = await store.models.people.findByPk(personId);
  return row !== null && row.passwordHash !== null;
}
