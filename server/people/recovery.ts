/** How an installation gets its admin back: for whoever has the server itself. */
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import type { PersonRow } from "../store/models/people.ts";
import type { MadeLink, OneTimeLinks } from "./one-time-links.ts";
import { noteChange } from "./people-audit.ts";
import { OPERATOR } from "./permissions.ts";
import { LINK_MS } from "./setup.ts";

/**
 * Makes a person an admin of an organization who may sign in again, and a link with which they choose a password.
 * Whatever they were before: removed, a member, or nobody there.
 */
export async function recoverAdmin(
  { store, audit, links }: { store: Store; audit: Audit; links: OneTimeLinks },
  organizationId: string,
  { id: personId, username }: Pick<PersonRow, "id" | "username">,
): Promise<MadeLink> {
  const { people, members } = store.models;
  await store.transaction(async (transaction) => {
    const where = { organizationId, personId };
    const member = await members.findOne({ where, transaction });
    if (member === null) await members.create({ ...where, role: "admin" }, { transaction });
    else await member.update({ role: "admin" }, { transaction });
    await people.update({ disabledAt: null }, { where: { id: personId }, transaction });
  });
  const link = { kind: "reset", organizationId, role: "admin", personId, createdBy: OPERATOR.name } as const;
  const made = await links.create({ ...link, forMs: LINK_MS });
  noteChange(audit, OPERATOR, "member_recovered", {
    organizationId,
    reason: `${username} as admin, with a new password`,
  });
  return made;
}
