/** Writes down who signed in, how, and who was refused. */
import type { Log } from "../../adapters/contract.ts";
import type { Audit } from "../observe/audit.ts";
import type { Store } from "../store/database.ts";
import { PEOPLE_ISSUER, type Person } from "./people.ts";
import type { WebSession } from "./web-sessions.ts";

/** With what somebody wanted to sign in: `password`, the kind of a link, or the id of a provider. */
export type SignInMeans = string;

/**
 * Prepares the record of one attempt: one row for each organization that the person belongs to. It asks the store for
 * nobody, too, so that an unknown account takes as long as a known one. Of nobody nothing is written: what is typed
 * into the wrong field may be a password.
 */
export async function prepareSignInRecord(
  { store, audit }: { store: Store; audit: Audit },
  person: Pick<Person, "id" | "name"> | null,
): Promise<(means: SignInMeans, signedIn: boolean) => void> {
  const organizationIds = await organizationsOf(store, person?.id ?? "");
  return (means, signedIn) => {
    if (person === null) return;
    for (const organizationId of organizationIds) {
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

/** Those a person belongs to; of somebody who was removed, the one whose audit knows them last. */
async function organizationsOf(store: Store, personId: string): Promise<string[]> {
  const memberships = await store.models.members.findAll({ where: { personId } });
  if (memberships.length > 0) return memberships.map(({ organizationId }) => organizationId);
  const where = { principalSubject: personId, principalIssuer: PEOPLE_ISSUER };
  const last = await store.models.auditEvents.findOne({ where, order: [["at", "DESC"]] });
  return last === null ? [] : [last.organizationId];
}

/**
 * Notes that the cookie of an ended session came again: a browser that was signed out from elsewhere, or somebody who
 * took the cookie. Never throws.
 */
export async function noteEndedSession(
  parts: { store: Store; audit: Audit; log: Log },
  session: WebSession,
  address: string | undefined,
): Promise<void> {
  parts.log.warn(
    { person: session.personId, session: session.id, address },
    "the cookie of an ended session came again",
  );
  try {
    const person = await parts.store.models.people.findByPk(session.personId);
    (await prepareSignInRecord(parts, person))("ended_session", false);
  } catch (error) {
    parts.log.warn({ error, session: session.id }, "the use of an ended session could not be noted");
  }
}
