/** One approval as the rest of the product sees it, how its arguments are sealed, and its part of an audit event. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { JackfieldError } from "../../errors.ts";
import type { AuditEvent } from "../../observe/audit.ts";
import type { ApprovalRow } from "../../store/models/approvals.ts";
import type { Keyring } from "../../vault/keyring.ts";
import { open, SealError } from "../../vault/seal.ts";

/** A stored approval without what is secret in it. */
export type Approval = Omit<ApprovalRow, "sealedArguments" | "openKey">;

/** What the arguments are sealed to: they open as this call of this principal only. */
export function approvalAad(
  row: Pick<ApprovalRow, "id" | "organizationId" | "principalKey" | "endpointId" | "connectionId" | "toolName">,
): string {
  const { id, organizationId, principalKey, endpointId, connectionId, toolName } = row;
  return ["approval", organizationId, id, principalKey, endpointId, connectionId, toolName].join("|");
}

/** The exact arguments. @throws JackfieldError `approval_unknown` where they cannot be opened any more */
export function openArguments(keyring: Keyring, row: ApprovalRow): JsonObject {
  try {
    const args: unknown = JSON.parse(open(keyring, row.sealedArguments, approvalAad(row)));
    if (typeof args === "object" && args !== null && !Array.isArray(args)) return { ...args };
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    throw new JackfieldError("approval_unknown", {
      cause,
      detail: "the arguments cannot be opened: another master key",
    });
  }
  throw new JackfieldError("approval_unknown", { detail: "the stored arguments are no object" });
}

/** Drops what stays in the register. */
export function withoutArguments(row: ApprovalRow): Approval {
  return {
    id: row.id,
    organizationId: row.organizationId,
    environmentId: row.environmentId,
    endpointId: row.endpointId,
    endpointSlug: row.endpointSlug,
    connectionId: row.connectionId,
    connectionSlug: row.connectionSlug,
    toolName: row.toolName,
    action: row.action,
    class: row.class,
    principalKey: row.principalKey,
    principalKind: row.principalKind,
    principalIssuer: row.principalIssuer,
    principalSubject: row.principalSubject,
    principalName: row.principalName,
    decider: row.decider,
    selfApprove: row.selfApprove,
    policyRevision: row.policyRevision,
    argumentsDigest: row.argumentsDigest,
    state: row.state,
    round: row.round,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    decidedAt: row.decidedAt,
    decidedBy: row.decidedBy,
    deciderName: row.deciderName,
    reason: row.reason,
    usedAt: row.usedAt,
  };
}

/** The call that an approval is about, as the audit names it. `rule` leads from each event to the approval. */
export function auditedCall(row: Approval): Omit<AuditEvent, "decision" | keyof AuditedActor> {
  return {
    organizationId: row.organizationId,
    environmentId: row.environmentId,
    endpointId: row.endpointId,
    endpointSlug: row.endpointSlug,
    connectionId: row.connectionId,
    connectionSlug: row.connectionSlug,
    toolName: row.toolName,
    action: row.action,
    class: row.class,
    argumentsDigest: row.argumentsDigest,
    door: "approval",
    rule: ruleOf(row.id),
  };
}

/** Who did it. */
export type AuditedActor = Pick<AuditEvent, "principalKind" | "principalIssuer" | "principalSubject" | "principalName">;

/** How the audit names an approval. */
export function ruleOf(id: string): string {
  return `approval:${id}`;
}
