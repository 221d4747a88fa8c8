/**
 * The record of what was called and refused. The intent of a write is committed before the adapter is called and its
 * outcome before the answer leaves; reads and refusals are written in batches.
 */
import { createHmac } from "node:crypto";
import { Op, type WhereOptions } from "sequelize";
import { monotonicFactory } from "ulid";
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { AuditEventRow } from "../store/models/audit-events.ts";
import type { NewRow } from "../store/models/table.ts";
import type { Keyring } from "../vault/keyring.ts";
import { canonicalJson } from "./canonical.ts";

/** What is known before or instead of the call. Texts longer than their column are cut. */
export type AuditEvent = Partial<Omit<AuditEventRow, "id" | "at" | "outcome">> &
  Pick<
    AuditEventRow,
    "organizationId" | "principalKind" | "principalIssuer" | "principalSubject" | "principalName" | "door" | "decision"
  >;

/** How it ended. */
export interface AuditOutcome {
  outcome: Exclude<AuditEventRow["outcome"], "open">;
  outcomeCode?: string | null;
  durationMs?: number | null;
}

/** A write whose outcome is not known yet. */
export interface AuditHandle {
  readonly id: string;
}

export interface AuditFilter {
  /** How many of the newest; default 50. */
  limit?: number;
  organizationId?: string;
  connectionId?: string;
  /** Only what came after this event. */
  afterId?: string;
}

export interface Audit {
  /** Notes a refusal; `outcome` is `refused`. */
  refused(event: AuditEvent): void;
  /** Commits the intent of a write. Rejects where it cannot be written: then the call must not happen. */
  begin(event: AuditEvent): Promise<AuditHandle>;
  /** Commits how a write ended. */
  finish(handle: AuditHandle, outcome: AuditOutcome): Promise<void>;
  /** Notes a finished read. */
  record(event: AuditEvent & AuditOutcome): void;
  /** HMAC-SHA-256 of arguments in canonical JSON, in hexadecimal: tells equal ones without keeping them. */
  digest(args: unknown): string;
  /** Writes what was noted. */
  flush(): Promise<void>;
  close(): Promise<void>;
  /** The newest events, oldest first. A write that never ended reads `outcome_unknown`. */
  tail(filter?: AuditFilter): Promise<AuditEventRow[]>;
}

export interface AuditOptions {
  store: Store;
  keyring: Keyring;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

const FLUSH_MS = 250;
const BATCH = 200;
/** Events kept while the database does not answer; the oldest go first. */
const MAX_WAITING = 20_000;

const WIDTHS = { principalIssuer: 255, principalSubject: 255, principalName: 255, toolName: 255, rule: 255 } as const;

type NewEvent = NewRow<AuditEventRow>;

/** Makes the audit of one process. */
export function createAudit({ store, keyring, log, clock }: AuditOptions): Audit {
  const { auditEvents } = store.models;
  const nextId = monotonicFactory();
  const key = keyring.deriveKey("audit/arguments");
  let waiting: NewEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const rowOf = (event: AuditEvent, outcome: AuditEventRow["outcome"], rest: Partial<AuditOutcome> = {}): NewEvent => {
    const at = clock();
    return { ...cut(event), ...rest, outcome, id: nextId(at), at: new Date(at) };
  };

  const note = (row: NewEvent): void => {
    waiting.push(row);
    if (waiting.length >= BATCH) {
      void flush();
      return;
    }
    timer ??= setTimeout(() => void flush(), FLUSH_MS);
    timer.unref();
  };

  // One batch at a time, so that a slow database does not pile up transactions.
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(writeWaiting);
    return writing;
  };

  const writeWaiting = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      waiting = waiting.slice(BATCH);
      try {
        await store.transaction((transaction) => auditEvents.bulkCreate(batch, { transaction }));
      } catch (error) {
        waiting = [...batch, ...waiting];
        const dropped = Math.max(0, waiting.length - MAX_WAITING);
        waiting = waiting.slice(dropped);
        log.error({ error, waiting: waiting.length, dropped }, "audit events could not be written; they are kept");
        return;
      }
    }
  };

  return {
    refused(event) {
      note(rowOf(event, "refused"));
    },
    async begin(event) {
      const row = await auditEvents.create(rowOf(event, "open"));
      return { id: row.id };
    },
    async finish({ id }, { outcome, outcomeCode = null, durationMs = null }) {
      const [changed] = await auditEvents.update(
        { outcome, outcomeCode, durationMs },
        { where: { id, outcome: "open" } },
      );
      if (changed !== 1) log.error({ id, outcome }, "the outcome of a write found no open intent");
    },
    record({ outcome, outcomeCode = null, durationMs = null, ...event }) {
      note(rowOf(event, outcome, { outcomeCode, durationMs }));
    },
    digest(args) {
      return createHmac("sha256", key).update(canonicalJson(args)).digest("hex");
    },
    flush,
    async close() {
      await flush();
    },
    async tail({ limit = 50, organizationId, connectionId, afterId } = {}) {
      const where: WhereOptions<AuditEventRow> = {
        ...(organizationId !== undefined && { organizationId }),
        ...(connectionId !== undefined && { connectionId }),
        ...(afterId !== undefined && { id: { [Op.gt]: afterId } }),
      };
      const rows = await auditEvents.findAll({ where, order: [["id", "DESC"]], limit });
      return rows.reverse().map((row) => {
        const event = row.get({ plain: true });
        return event.outcome === "open" ? { ...event, outcome: "outcome_unknown" } : event;
      });
    },
  };
}

/** Cut by characters, not code units, so that no half of a surrogate pair is stored. */
function cut(event: AuditEvent): AuditEvent {
  const result = { ...event };
  for (const [name, width] of Object.entries(WIDTHS)) {
    const field = name as keyof typeof WIDTHS;
    const value = result[field];
    if (typeof value === "string" && value.length > width) result[field] = [...value].slice(0, width).join("");
  }
  return result;
}
