import type { Store } from "../store/database.ts";
import { PEOPLE_ISSUER } from "./people.ts";
import { may, type Permission } from "./permissions.ts";
import type { Principal } from "./principal.ts";

/** Whether a principal has a permission: a person by the role in the organization, an agent never. */
export async function principalMay(store: Store, principal: Principal, permission: Permission): Promise<boolean> {
  if (principal.kind !== "person" || principal.issuer !== PEOPLE_ISSUER) return false;
  const { organizationId, subject: personId } = principal;
  const member = await store.models.members.findOne({ where: { organizationId, personId } });
  return may(member?.role, permission);
}
