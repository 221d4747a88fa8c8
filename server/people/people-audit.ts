/** Writes down what was changed about people: who did it, to whom, and what was refused. */
import type { Audit } from "../observe/audit.ts";
import type { Actor } from "./permissions.ts";

/** What was changed. */
export type PeopleChange =
  | "invitation_made"
  | "invitation_ended"
  | "invitation_accepted"
  | "reset_link_made"
  | "member_admitted"
  | "member_role_changed"
  | "member_groups_changed"
  | "member_removed"
  | "member_recovered"
  | "sessions_ended"
  | "identity_linked"
  | "identity_unlinked"
  | "password_changed"
  | "organization_made"
  | "token_made"
  | "token_rotated"
  | "token_revoked"
  | "client_revoked";

export interface PeopleEvent {
  readonly organizationId: string;
  /** What was changed, in words; names of people are good, secrets are not. */
  readonly reason: string;
}

/** Notes a change. */
export function noteChange(audit: Audit, actor: Actor, change: PeopleChange, event: PeopleEvent): void {
  audit.record({ ...rowOf(actor, change, event), decision: "allow", outcome: "ok" });
}

/** Notes a change that was refused. */
export function noteRefusal(audit: Audit, actor: Actor, change: PeopleChange, event: PeopleEvent): void {
  audit.refused({ ...rowOf(actor, change, event), decision: "refuse" });
}

function rowOf(actor: Actor, change: PeopleChange, { organizationId, reason }: PeopleEvent) {
  return {
    organizationId,
    principalKind: actor.kind,
    principalIssuer: actor.issuer,
    principalSubject: actor.subject,
    principalName: actor.name,
    door: "people",
    rule: change,
    reason,
  } as const;
}
