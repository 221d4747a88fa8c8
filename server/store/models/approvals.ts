import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, moment, oneOf, reference, string, type Table, text } from "./table.ts";

export const APPROVAL_STATES = ["pending", "approved", "refused", "used", "expired"] as const;

/** One exact call that a person decides about. Names are copied in: the row must stay readable. */
export interface ApprovalRow {
  id: string;
  organizationId: string;
  environmentId: string;
  endpointId: string;
  endpointSlug: string;
  connectionId: string;
  connectionSlug: string;
  /** Public name, `<connection>__<action>`. */
  toolName: string;
  /** The upstream's own name. */
  action: string;
  class: "read" | "write";
  /** Who called; only the same principal can use it. */
  principalKey: string;
  principalKind: "agent" | "person";
  principalIssuer: string;
  principalSubject: string;
  principalName: string;
  /** Who decides: somebody with the right, or the caller. */
  decider: "approver" | "caller";
  /** 1: somebody with the right may approve a call of their own. */
  selfApprove: number;
  /** Digest of everything that governed the call; another one makes the approval worthless. */
  policyRevision: string;
  /** HMAC of the prepared arguments. */
  argumentsDigest: string;
  /** Digest of the whole binding while it is pending, so that equal calls share one; null from then on. */
  openKey: string | null;
  /** The prepared arguments as JSON. */
  sealedArguments: string;
  state: (typeof APPROVAL_STATES)[number];
  /** How many requests the one approved call has taken: each question of the upstream ends one. */
  round: number;
  createdAt: Date;
  expiresAt: Date;
  decidedAt: Date | null;
  /** `<issuer> <subject>` of who decided. */
  decidedBy: string | null;
  deciderName: string | null;
  /** What who decided said about it. */
  reason: string | null;
  usedAt: Date | null;
}

export function defineApprovals(sequelize: Sequelize): Table<ApprovalRow> {
  const optional = { allowNull: true };
  return defineTable<ApprovalRow>(
    sequelize,
    "approvals",
    {
      id: id(),
      organizationId: reference(),
      environmentId: reference(),
      endpointId: reference(),
      endpointSlug: string(64),
      connectionId: reference(),
      connectionSlug: string(64),
      toolName: string(255),
      action: text(),
      class: oneOf(["read", "write"]),
      principalKey: digest(),
      principalKind: oneOf(["agent", "person"]),
      principalIssuer: string(255),
      principalSubject: string(255),
      principalName: string(255),
      decider: oneOf(["approver", "caller"]),
      selfApprove: integer(),
      policyRevision: digest(),
      argumentsDigest: digest(),
      openKey: digest(optional),
      sealedArguments: text(),
      state: oneOf(APPROVAL_STATES),
      round: integer(),
      createdAt: moment(),
      expiresAt: moment(),
      decidedAt: moment(optional),
      decidedBy: string(255, optional),
      deciderName: string(255, optional),
      reason: text(optional),
      usedAt: moment(optional),
    },
    [["openKey"]],
  );
}
