/**
 * What holds the audit together, as pure functions.
 *
 * Each process that writes has a chain of its own, so that processes never wait for one another. An event is one link
 * of its process's chain. A write's outcome, which is added to its row later, is a link of its own: so both what was
 * intended and how it ended stay as they were written. A link is hashed over its content, its place and the hash of
 * the link before it, under a key that is not in the database in the clear: whoever can change rows can neither make
 * the hash of a changed one nor put one in between.
 *
 * Links alone do not show that a chain's last ones are gone, or a whole chain. Checkpoints do: each says how far a
 * chain had come, and carries the signature of the checkpoint before it, over all processes.
 */
import { createHmac } from "node:crypto";
import type { AuditCheckpointRow } from "../store/models/audit-checkpoints.ts";
import { type AuditEventRow, type AuditRecord, CHAIN_COLUMNS } from "../store/models/audit-events.ts";
import { canonicalJson } from "./canonical.ts";

/** Stands for the hash before the first link, and for the signature before the first checkpoint. */
export const BEGINNING = "0".repeat(64);

/** A place in a chain. */
export interface Place {
  readonly chainId: string;
  /** From 1, without a gap. */
  readonly sequence: number;
  readonly previousHash: string;
}

/** How a write ended. */
export interface Ending {
  readonly outcome: AuditEventRow["outcome"];
  readonly outcomeCode: string | null;
  readonly durationMs: number | null;
}

const CHAIN: ReadonlySet<string> = new Set(CHAIN_COLUMNS);

/** Hash of the link that is an event, as it was inserted. Absent and null columns count the same. */
export function eventHash(key: Buffer, place: Place, event: Partial<AuditRecord>): string {
  const content = Object.entries(event).filter(([name, value]) => value != null && !CHAIN.has(name));
  return mac(key, "event", place, Object.fromEntries(content));
}

/** Hash of the link that says how the write of an event ended. */
export function endHash(key: Buffer, place: Place, eventId: string, ending: Ending): string {
  const { outcome, outcomeCode, durationMs } = ending;
  return mac(key, "end", place, { eventId, outcome, outcomeCode, durationMs });
}

/** The event as it was inserted: a write had no outcome yet. */
export function asInserted(row: AuditEventRow): Partial<AuditRecord> {
  return row.endSequence === null ? row : { ...row, outcome: "open", outcomeCode: null, durationMs: null };
}

/** Signature of a checkpoint. */
export function checkpointSignature(key: Buffer, entry: Omit<AuditCheckpointRow, "id" | "signature">): string {
  const { number, kind, chainId, sequence, hash, at, keyId, previousSignature } = entry;
  return mac(key, "checkpoint", { number, previousSignature }, { kind, chainId, sequence, hash, at, keyId });
}

function mac(key: Buffer, what: string, place: object, content: object): string {
  return createHmac("sha256", key).update(canonicalJson({ what, place, content })).digest("hex");
}
