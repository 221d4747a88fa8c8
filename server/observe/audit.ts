/**
 * The record of what was called and refused. The intent of a write is committed before the adapter is called and its
 * outcome before the answer leaves; reads and refusals are written in batches. Whatever waits while the database is
 * busy is committed together next. How rows are kept from being changed unseen: `audit-chain.ts`.
 */
import { createHmac } from "node:crypto";
import { DatabaseError } from "sequelize";
import { monotonicFactory } from "ulid";
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { AuditEventRow, AuditRecord } from "../store/models/audit-events.ts";
import type { Keyring } from "../vault/keyring.ts";
import { createChains } from "./audit-chains.ts";
import { createCheckpoints } from "./audit-checkpoints.ts";
import { type AuditFilter, queryAudit } from "./audit-query.ts";
import { type Chain, type Change, IntentMissing, type NewEvent } from "./audit-writer.ts";
import { canonicalJson } from "./canonical.ts";

/** What is known before or instead of the call. Texts longer than their column are cut. */
export type AuditEvent = Partial<Omit<AuditRecord, "id" | "at" | "outcome">> &
  Pick<
    AuditRecord,
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

export interface TailFilter extends AuditFilter {
  /** How many of the newest; default 50. */
  limit?: number;
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
  /** Writes what was noted and signs that the chain of this process ends here. */
  close(): Promise<void>;
  /** The newest events, oldest first. A write that never ended reads `outcome_unknown`. */
  tail(filter?: TailFilter): Promise<AuditRecord[]>;
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

/** A change that somebody waits for. */
interface Job {
  readonly change: Change;
  resolve(): void;
  reject(error: unknown): void;
}

/** Makes the audit of one process. */
export function createAudit({ store, keyring, log, clock }: AuditOptions): Audit {
  const nextId = monotonicFactory();
  const digestKey = keyring.deriveKey("audit/arguments");
  const checkpoints = createCheckpoints({ store, log, clock });
  const chains = createChains({ store, keyring, checkpoints, log, clock, wake: () => void work() });
  let jobs: Job[] = [];
  let waiting: (NewEvent & { id: string })[] = [];
  const flushing: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;

  const rowOf = (event: AuditEvent, { outcome, outcomeCode, durationMs }: Partial<AuditOutcome>) => {
    const at = clock();
    const ending = { outcomeCode: outcomeCode ?? null, durationMs: durationMs ?? null };
    return {
      ...storable(event),
      ...storable(ending),
      outcome: outcome ?? ("open" as const),
      id: nextId(at),
      at: new Date(at),
    };
  };

  const note = (event: AuditEvent, ending: AuditOutcome): void => {
    waiting.push(rowOf(event, ending));
    if (waiting.length >= BATCH) {
      void flush();
      return;
    }
    timer ??= setTimeout(() => void flush(), FLUSH_MS);
    timer.unref();
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return new Promise((resolve) => {
      flushing.push(resolve);
      void work();
    });
  };

  const write = (change: Change): Promise<void> =>
    new Promise((resolve, reject) => {
      jobs.push({ change, resolve, reject });
      void work();
    });

  /** One thing at a time: what a slow database keeps waiting is committed together when it is back. */
  const work = (): Promise<void> => {
    working ??= untilDone();
    return working;
  };

  const untilDone = async (): Promise<void> => {
    // First whoever asked for this goes on: what begins together is written together.
    await Promise.resolve();
    while (jobs.length > 0 || flushing.length > 0) {
      const group = jobs.slice(0, BATCH);
      jobs = jobs.slice(BATCH);
      for (const [chain, of] of await sorted(group)) await writeJobs(chain, of);
      if (flushing.length > 0 && !(await writeWaiting())) {
        for (const resolve of flushing.splice(0)) resolve();
      }
      await chains.tend();
    }
    await chains.tend();
    // Nothing is awaited between the last look and this: what comes now starts anew.
    if (jobs.length > 0 || flushing.length > 0) return untilDone();
    working = undefined;
  };

  /** The jobs of each chain; those that belong to none are refused. */
  const sorted = async (group: readonly Job[]): Promise<ReadonlyMap<Chain, Job[]>> => {
    const byChain = new Map<Chain, Job[]>();
    for (const job of group) {
      try {
        const chain = await chains.of(job.change);
        byChain.set(chain, [...(byChain.get(chain) ?? []), job]);
      } catch (error) {
        job.reject(error);
      }
    }
    return byChain;
  };

  const writeJobs = async (chain: Chain, group: readonly Job[]): Promise<void> => {
    try {
      await chains.write(
        chain,
        group.map(({ change }) => change),
      );
      for (const { resolve } of group) resolve();
    } catch (error) {
      // One that cannot be written must not fail the others. Where the database does not answer, all fail at once.
      const alone = error instanceof IntentMissing || error instanceof DatabaseError;
      if (group.length > 1 && alone) for (const job of group) await writeJobs(chain, [job]);
      else for (const { reject } of group) reject(error);
    }
  };

  /** Writes one batch of what was noted; true where there may be more. */
  const writeWaiting = async (): Promise<boolean> => {
    const batch = waiting.slice(0, BATCH);
    const changes = batch.map((row): Change => ({ kind: "event", row }));
    const [first] = changes;
    if (first === undefined) return false;
    waiting = waiting.slice(BATCH);
    try {
      await chains.write(await chains.of(first), changes);
      return waiting.length > 0;
    } catch (error) {
      waiting = [...batch, ...waiting];
      const dropped = Math.max(0, waiting.length - MAX_WAITING);
      waiting = waiting.slice(dropped);
      log.error({ error, waiting: waiting.length, dropped }, "audit events could not be written; they are kept");
      return false;
    }
  };

  return {
    refused(event) {
      note(event, { ...event, outcome: "refused" });
    },
    async begin(event) {
      const row = rowOf(event, {});
      await write({ kind: "event", row });
      return { id: row.id };
    },
    async finish({ id }, { outcome, outcomeCode = null, durationMs = null }) {
      try {
        await write({ kind: "end", id, ending: { outcome, ...storable({ outcomeCode }), durationMs } });
      } catch (error) {
        if (!(error instanceof IntentMissing)) throw error;
        log.error({ id, outcome }, "the outcome of a write found no open intent");
      }
    },
    record({ outcome, outcomeCode = null, durationMs = null, ...event }) {
      note(event, { outcome, outcomeCode, durationMs });
    },
    digest(args) {
      return createHmac("sha256", digestKey).update(canonicalJson(args)).digest("hex");
    },
    flush,
    async close() {
      await flush();
      while (working !== undefined) await working;
      await chains.close();
    },
    async tail({ limit = 50, ...filter } = {}) {
      const { events } = await queryAudit(store, filter, { limit, order: "newest_first" });
      return events.reverse();
    },
  };
}

/** How many characters the columns take. */
const WIDTHS: Readonly<Record<string, number>> = {
  ...{ principalKind: 16, principalIssuer: 255, principalSubject: 255, principalName: 255, toolName: 255, rule: 255 },
  ...{ endpointSlug: 64, connectionSlug: 64, outcomeCode: 64, traceId: 64, door: 32, era: 16, class: 16 },
};

/**
 * The texts as the database gives them back, or a hash over them would not fit: without NUL and halves of surrogate
 * pairs, and cut by characters, not code units.
 */
function storable<T extends object>(event: T): T {
  const texts = Object.entries(event).map(([name, value]: [string, unknown]) => {
    if (typeof value !== "string") return [name, value];
    const text = value.toWellFormed().replaceAll("\0", "\u{FFFD}");
    const width = WIDTHS[name] ?? Number.POSITIVE_INFINITY;
    return [name, text.length > width ? [...text].slice(0, width).join("") : text];
  });
  return { ...event, ...Object.fromEntries(texts) };
}
