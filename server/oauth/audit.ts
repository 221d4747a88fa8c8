/** What the authorization server writes to the audit. */
import type { Audit } from "../observe/audit.ts";
import { PEOPLE_ISSUER } from "../people/people.ts";
import { clientKey } from "../people/principal.ts";
import type { Store } from "../store/database.ts";
import type { OAuthGrantRow } from "../store/models/oauth-grants.ts";

/**
 * At the consent page: allowed, remembered from before, one scope more later, denied, or asked for an endpoint that is not this person's.
 * An answer to a question that was not asked in this browser; a token that was sent to another endpoint than its own.
 * Later: a refresh token used twice in its grace time, something used again that works once, an end on request.
 */
export type OAuthEvent =
  | "consent_allowed"
  | "consent_remembered"
  | "consent_widened"
  | "consent_denied"
  | "endpoint_refused"
  | "foreign_answer"
  | "foreign_audience"
  | "grace_used"
  | "replayed"
  | "revoked";

export interface OAuthSubject {
  readonly organizationId: string;
  readonly personId: string;
  readonly personName: string;
  /** Null where it is not known. */
  readonly endpointId: string | null;
  readonly endpointSlug?: string;
  readonly grantId?: string;
  readonly clientId: string;
}

const REFUSALS: ReadonlySet<OAuthEvent> = new Set([
  "consent_denied",
  "endpoint_refused",
  "foreign_answer",
  "foreign_audience",
  "replayed",
]);

/** Notes one event. */
export function noteOAuth(audit: Audit, event: OAuthEvent, subject: OAuthSubject, reason: string): void {
  const { organizationId, personId, personName, endpointId, endpointSlug, grantId, clientId } = subject;
  const row = {
    organizationId,
    endpointId,
    endpointSlug: endpointSlug ?? null,
    principalKind: "person",
    principalIssuer: PEOPLE_ISSUER,
    principalSubject: personId,
    principalName: personName,
    tokenId: grantId ?? null,
    clientKey: grantId === undefined ? null : clientKey(`${grantId}|${clientId}`),
    door: "oauth",
    rule: event,
    reason,
  } as const;
  if (REFUSALS.has(event)) audit.refused({ ...row, decision: "refuse" });
  else audit.record({ ...row, decision: "allow", outcome: "ok" });
}

/** Notes an event about a grant, whose person is looked up for the name. */
export async function noteGrant(
  { audit, store }: { audit: Audit; store: Store },
  event: OAuthEvent,
  grant: OAuthGrantRow,
  reason: string,
): Promise<void> {
  const person = await store.models.people.findByPk(grant.personId);
  const { organizationId, personId, endpointId, clientId, id: grantId } = grant;
  const personName = person?.name ?? "";
  noteOAuth(audit, event, { organizationId, personId, personName, endpointId, grantId, clientId }, reason);
}
