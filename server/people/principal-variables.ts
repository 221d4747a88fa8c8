/** Session variables of people: `${{principal.*}}` (design section 7, Variables). */
import type { Store } from "../store/database.ts";
import type { Person } from "./people.ts";

/** Names that are ours; claims of a provider cannot take them. */
export const OWN_VARIABLES: readonly string[] = ["id", "username"];

/**
 * The variables of a person who signed in with an identity, or with a password where that is null. Claims are those of
 * that identity's last sign-in; one that was unlinked meanwhile says nothing any more.
 */
export async function personVariables(
  store: Store,
  person: Pick<Person, "id" | "username">,
  identityId: string | null,
): Promise<Record<string, string>> {
  const where = { id: identityId ?? "", personId: person.id };
  const identity = identityId === null ? null : await store.models.identities.findOne({ where });
  const claims = Object.entries(identity?.claims ?? {}).filter(([name]) => !OWN_VARIABLES.includes(name));
  return Object.fromEntries([
    ...claims.map(([name, value]): [string, string] => [`principal.${name}`, value]),
    ["principal.id", person.id],
    ["principal.username", person.username],
  ]);
}
