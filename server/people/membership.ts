/** A person as a member of one organization: what decides which endpoints are theirs. */
import type { PersonInOrganization } from "../access/principals.ts";
import type { Store } from "../store/database.ts";
import { groupsOf } from "./groups.ts";
import type { Person } from "./people.ts";
import type { Role } from "./permissions.ts";

export interface Membership extends PersonInOrganization {
  readonly role: Role;
  readonly groups: readonly string[];
}

/** Undefined where the person is no member. Asks the store. */
export async function membershipOf(
  store: Store,
  organizationId: string,
  person: Pick<Person, "id" | "username">,
): Promise<Membership | undefined> {
  const where = { organizationId, personId: person.id };
  const member = await store.models.members.findOne({ where });
  if (member === null) return undefined;
  return { role: member.role, username: person.username, groups: await groupsOf(store, where) };
}
