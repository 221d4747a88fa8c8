/** Who may use an endpoint (design section 7, Grants). */

/** What an endpoint's `principals` name; undefined: admins, and the tokens made for it. */
export interface NamedPrincipals {
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly people: readonly string[];
}

/** A person as far as it decides. */
export interface PersonInOrganization {
  /** Undefined: no member. */
  readonly role: string | undefined;
  readonly username: string;
  readonly groups: readonly string[];
}

/** Whether a person may use an endpoint. An admin may do what a member may. */
export function mayUseEndpoint(named: NamedPrincipals | undefined, person: PersonInOrganization): boolean {
  const { role, username, groups } = person;
  if (role === undefined) return false;
  if (named === undefined) return role === "admin";
  if (named.roles.includes(role) || (role === "admin" && named.roles.includes("member"))) return true;
  return named.people.includes(username) || groups.some((group) => named.groups.includes(group));
}
