/** The groups of an organization's members: those an admin put them in, and those that claims of a sign-in name. */
import type { Transaction } from "sequelize";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { MemberGroupRow } from "../store/models/member-groups.ts";

/** The source of groups that somebody was put in by hand. */
export const BY_HAND = "";

/** More than any directory is asked to say about one person. */
const MOST = 500;
const LONGEST = 128;

export type MemberGroup = Pick<MemberGroupRow, "name" | "source">;

export interface GroupsOf {
  readonly organizationId: string;
  readonly personId: string;
}

/** Names of the groups that a member is in, each once, in order. */
export async function groupsOf(store: Store, { organizationId, personId }: GroupsOf): Promise<string[]> {
  const rows = await store.models.memberGroups.findAll({ where: { organizationId, personId } });
  return namesOf(rows);
}

/** Each name once, in order, whoever put the member in it. */
export function namesOf(groups: readonly MemberGroup[]): string[] {
  return [...new Set(groups.map(({ name }) => name))].sort();
}

/** What is wrong with the name of a group, as a sentence; undefined where nothing is. */
export function groupProblem(name: string): string | undefined {
  if (name === "" || name.trim() !== name) return "A group's name is not empty and has no blanks at its ends.";
  if ([...name].length > LONGEST) return `A group's name has at most ${LONGEST} characters.`;
  return /[\p{Cc}\p{Cf}]/u.test(name) ? "A group's name has no control characters." : undefined;
}

/** The names as they are kept: each once, in order. Throws `invalid_people` where one cannot be a group's. */
export function checkGroups(names: readonly string[]): string[] {
  if (names.length > MOST) throw new JackfieldError("invalid_people", { text: `At most ${MOST} groups.` });
  for (const name of names) {
    const problem = groupProblem(name);
    if (problem !== undefined) throw new JackfieldError("invalid_people", { text: problem });
  }
  return [...new Set(names)].sort();
}

/** Those of the names that can be groups, at most as many as are kept: for what another server says. */
export function usableGroups(names: readonly string[]): string[] {
  return [...new Set(names.filter((name) => groupProblem(name) === undefined))].sort().slice(0, MOST);
}

/**
 * Makes these the groups that a member is in from one source; those from others stay. Returns whether that changed
 * anything.
 */
export async function setGroups(
  store: Store,
  { organizationId, personId, source, names }: GroupsOf & { source: string; names: readonly string[] },
  transaction: Transaction,
): Promise<boolean> {
  const { memberGroups } = store.models;
  const where = { organizationId, personId, source };
  const before = (await memberGroups.findAll({ where, transaction })).map(({ name }) => name);
  const added = names.filter((name) => !before.includes(name));
  const gone = before.filter((name) => !names.includes(name));
  if (gone.length > 0) await memberGroups.destroy({ where: { ...where, name: gone }, transaction });
  for (const name of added) await memberGroups.create({ ...where, name }, { transaction });
  return added.length + gone.length > 0;
}
