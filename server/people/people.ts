/** The people of the organizations: found, listed, made. */
import { type Transaction, UniqueConstraintError } from "sequelize";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { PersonRow } from "../store/models/people.ts";
import { type Actor, may, type Role } from "./permissions.ts";
import { principalKey } from "./principal.ts";

/** Issuer of people's principals; their subject is the person's id. */
export const PEOPLE_ISSUER = "urn:jackfield:people";

/** A person without what they sign in with. */
export type Person = Omit<PersonRow, "passwordHash">;

export interface NewPerson {
  username: string;
  name: string;
  email?: string | null;
  /** Null: another server signs them in. */
  passwordHash: string | null;
  organizationId: string;
  role: Role;
}

const USERNAME = /^[a-z0-9][a-z0-9._@+-]{0,127}$/;

/** What is typed as a username, in the form in which it is stored and compared. */
export function plainUsername(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase();
}

/** What is wrong with a username, as a sentence; undefined where nothing is. */
export function usernameProblem(username: string): string | undefined {
  if (username === "") return "Choose a username.";
  if (USERNAME.test(username)) return undefined;
  return "A username has at most 128 letters (a to z), digits and . _ @ + -, and starts with a letter or digit.";
}

/** What is wrong with a person's name, as a sentence; undefined where nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "Enter the name that others see.";
  if ([...name].length > 128) return "A name has at most 128 characters.";
  return /[\p{Cc}\p{Cf}]/u.test(name) ? "A name has no control characters." : undefined;
}

/** The key under which a person's accounts at connections are kept; see `principalKey`. */
export function personKey(personId: string): string {
  return principalKey(PEOPLE_ISSUER, personId);
}

/** The person without the password's hash. */
export function withoutHash(row: PersonRow): Person {
  const { id, username, name, email, createdAt, disabledAt } = row;
  return { id, username, name, email, createdAt, disabledAt };
}

/** Whether somebody who may sign in is an admin of the organization. */
export async function hasAdmin(store: Store, organizationId: string, transaction?: Transaction): Promise<boolean> {
  const { members, people } = store.models;
  const within = transaction === undefined ? {} : { transaction };
  const admins = await members.findAll({ where: { organizationId, role: "admin" }, ...within });
  const id = admins.map(({ personId }) => personId);
  return id.length > 0 && (await people.count({ where: { id, disabledAt: null }, ...within })) > 0;
}

/** A person as somebody who changes something; without roles they may change what is their own. */
export function personActor(
  { id, name }: Pick<Person, "id" | "name">,
  roleIn: (organizationId: string) => Role | undefined = () => undefined,
): Actor {
  return {
    kind: "person",
    issuer: PEOPLE_ISSUER,
    subject: id,
    name,
    may: (organizationId, permission) => may(roleIn(organizationId), permission),
  };
}

/**
 * Makes a person and their membership, inside the transaction that is given.
 * Throws `username_taken` where somebody has the username.
 */
export async function createPerson(
  store: Store,
  { organizationId, role, ...person }: NewPerson,
  { now, transaction }: { now: Date; transaction: Transaction },
): Promise<Person> {
  const { members, people } = store.models;
  try {
    const row = await people.create({ ...person, createdAt: now }, { transaction });
    await members.create({ organizationId, personId: row.id, role }, { transaction });
    return withoutHash(row);
  } catch (cause) {
    if (!(cause instanceof UniqueConstraintError)) throw cause;
    throw new JackfieldError("username_taken", { text: `“${person.username}” is taken.`, cause });
  }
}
