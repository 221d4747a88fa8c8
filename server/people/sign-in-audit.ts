/** Writes down who signed in, how, and who was refused. */
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import { PEOPLE_ISSUER, type Person } from "./people.ts";

/** With what somebody wanted to sign in. */
export type SignInMeans = "password" | "setup_link" | "reset_link";

/**
 * Prepares the record of one attempt: one row for each organization that the person belongs to. It asks the store for
 * nobody, too, so that an unknown account takes as long as a known one. Of nobody nothing is written: what is typed
 * into the wrong field may be a password.
 */
export async function prepareSignInRecord(
  { store, audit }: { store: Store; audit: Audit },
  person: Pick<Person, "id" | "name"> | null,
): Promise<(means: SignInMeans, signedIn: boolean) => void> {
  const memberships = await store.models.members.findAll({ where: { personId: person?.id ?? "" } });
  return (means, signedIn) => {
    if (person === null) return;
    for (const { organizationId } of memberships) {
      const event = {
        organizationId,
        principalKind: "person",
        principalIssuer: PEOPLE_ISSUER,
        principalSubject: person.id,
        principalName: person.name,
        door: "sign_in",
        rule: means,
      } as const;
      if (signedIn) audit.record({ ...event, decision: "allow", outcome: "ok" });
      else audit.refused({ ...event, decision: "refuse" });
    }
  };
}
