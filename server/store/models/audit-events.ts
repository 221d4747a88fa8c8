import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, moment, oneOf, reference, string, type Table, text } from "./table.ts";

export const DECISIONS = ["allow", "refuse", "needs_approval"] as const;
export const AUDIT_OUTCOMES = ["open", "ok", "tool_error", "error", "refused", "cancelled", "outcome_unknown"] as const;

/** One call or refusal. Slugs and names are copied in: the row must stay readable when what it names is gone. */
export interface AuditEventRow {
  id: string;
  at: Date;
  organizationId: string;
  environmentId: string | null;
  endpointId: string | null;
  endpointSlug: string | null;
  connectionId: string | null;
  connectionSlug: string | null;
  principalKind: string;
  principalIssuer: string;
  principalSubject: string;
  principalName: string;
  tokenId: string | null;
  clientKey: string | null;
  /** How the call came in: `tool_read`, `tool_write`, `direct`, `resource`, ... */
  door: string;
  era: string | null;
  toolName: string | null;
  /** The upstream's own name. */
  action: string | null;
  class: string | null;
  decision: (typeof DECISIONS)[number];
  rule: string | null;
  reason: string | null;
  /** HMAC of the arguments; the arguments themselves are not kept. */
  argumentsDigest: string | null;
  outcome: (typeof AUDIT_OUTCOMES)[number];
  outcomeCode: string | null;
  durationMs: number | null;
  traceId: string | null;
  /** The chain of the process that wrote it; null in rows from before there were chains. See `observe/audit-chain.ts`. */
  chainId: string | null;
  /** Which link of the chain the event is, from 1; the hash of the link before; its own hash. */
  sequence: number | null;
  previousHash: string | null;
  hash: string | null;
  /** The same of the link that says how a write ended; null while it is open, and in events that ended at once. */
  endSequence: number | null;
  endPreviousHash: string | null;
  endHash: string | null;
}

/** The columns that hold an event to its chain. */
export const CHAIN_COLUMNS = [
  "chainId",
  "sequence",
  "previousHash",
  "hash",
  "endSequence",
  "endPreviousHash",
  "endHash",
] as const satisfies (keyof AuditEventRow)[];

/** An event without what holds it to its chain. */
export type AuditRecord = Omit<AuditEventRow, (typeof CHAIN_COLUMNS)[number]>;

export function defineAuditEvents(sequelize: Sequelize): Table<AuditEventRow> {
  const optional = { allowNull: true };
  return defineTable<AuditEventRow>(sequelize, "audit_events", {
    // Given by the writer, always: Sequelize would make another one for each row and each update.
    id: { ...id(), defaultValue: undefined },
    at: moment(),
    organizationId: reference(),
    environmentId: reference(optional),
    endpointId: reference(optional),
    endpointSlug: string(64, optional),
    connectionId: reference(optional),
    connectionSlug: string(64, optional),
    principalKind: string(16),
    principalIssuer: string(255),
    principalSubject: string(255),
    principalName: string(255),
    tokenId: reference(optional),
    clientKey: digest(optional),
    door: string(32),
    era: string(16, optional),
    toolName: string(255, optional),
    action: text(optional),
    class: string(16, optional),
    decision: oneOf(DECISIONS),
    rule: string(255, optional),
    reason: text(optional),
    argumentsDigest: digest(optional),
    outcome: oneOf(AUDIT_OUTCOMES),
    outcomeCode: string(64, optional),
    durationMs: integer(optional),
    traceId: string(64, optional),
    chainId: reference(optional),
    sequence: integer(optional),
    previousHash: digest(optional),
    hash: digest(optional),
    endSequence: integer(optional),
    endPreviousHash: digest(optional),
    endHash: digest(optional),
  });
}
