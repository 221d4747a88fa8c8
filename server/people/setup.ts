/** How the first admin of an installation comes to be, and how a person gets a new password. */
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { OneTimeLink, OneTimeLinks } from "./one-time-links.ts";
import type { Passwords } from "./password.ts";
import { createPerson, hasAdmin, type Person, withoutHash } from "./people.ts";

/** Milliseconds for which a link that makes an admin or sets a password works. */
export const LINK_MS = 24 * 3_600_000;

export interface SetupParts {
  store: Store;
  links: OneTimeLinks;
  passwords: Passwords;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

/**
 * Makes the person that a setup link is for. Of many requests with the same link one succeeds.
 * Throws `link_ended` (used, expired, or an admin exists by now), `username_taken`, `busy`.
 */
export async function setUpAdmin(
  { store, links, passwords, clock }: SetupParts,
  link: OneTimeLink,
  { password, ...person }: { username: string; name: string; password: string },
): Promise<Person> {
  // Outside of the transaction, which would keep others waiting for as long as a hash takes.
  const passwordHash = await passwords.hash(password);
  return store.transaction(async (transaction) => {
    // One at a time: two links for the same organization must not make two first admins.
    await store.models.organizations.findByPk(link.organizationId, { transaction, lock: transaction.LOCK.UPDATE });
    if (!(await links.claim(link.id, transaction))) throw new JackfieldError("link_ended");
    if (await hasAdmin(store, link.organizationId, transaction)) throw new JackfieldError("link_ended");
    const { organizationId, role } = link;
    const made = { ...person, passwordHash, organizationId, role };
    return createPerson(store, made, { now: new Date(clock()), transaction });
  });
}

/** Sets a person's password by a reset link. Throws `link_ended`, `busy`. */
export async function resetPassword(
  { store, links, passwords }: SetupParts,
  link: OneTimeLink,
  password: string,
): Promise<Person> {
  const { people } = store.models;
  const passwordHash = await passwords.hash(password);
  return store.transaction(async (transaction) => {
    if (!(await links.claim(link.id, transaction))) throw new JackfieldError("link_ended");
    const row = await people.findOne({ where: { id: link.personId ?? "", disabledAt: null }, transaction });
    if (row === null) throw new JackfieldError("link_ended");
    await row.update({ passwordHash }, { transaction });
    return withoutHash(row);
  });
}
