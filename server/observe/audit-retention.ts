/**
 * Removes events that are older than the retention. Whole chains are cut, each at its last checkpoint: what says so is
 * signed, so that a chain that was cut is not taken for one that somebody removed.
 */
import { Op } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { CHAIN_MS } from "./audit-chains.ts";
import { createCheckpoints } from "./audit-checkpoints.ts";
import { openAuditKeys, signingKey } from "./audit-keys.ts";
import { verifyChain } from "./audit-verify-chain.ts";
import { type ChainState, type CheckpointsRead, readCheckpoints } from "./audit-verify-checkpoints.ts";

export interface AuditRetention {
  /** Sweeps where the last sweep is a day ago. Never rejects: what goes wrong is logged. */
  sweepIfDue(): Promise<void>;
  /** Sweeps now, unless another process does; the number of events that were removed. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export interface RetentionOptions {
  store: Store;
  keyring: Keyring;
  locks: Locks;
  /** How long events are kept: `365d`, `8w`, `2y`, or `never` removed. Asked at each sweep. */
  retention: () => string;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const UNIT_MS: Readonly<Record<string, number>> = { d: DAY, w: 7 * DAY, y: 365 * DAY };
/** A sweep that lasts longer may meet another one; that does no harm. */
const LOCK_MS = 10 * 60_000;
const BATCH = 500;

/** A retention in milliseconds; `never` is Infinity. */
export function retentionMs(text: string): number {
  const match = /^(\d+)([dwy])$/.exec(text);
  return match === null ? Number.POSITIVE_INFINITY : Number(match[1]) * (UNIT_MS[match[2] ?? ""] ?? DAY);
}

/** Looks once an hour whether a sweep is due, the first time an hour after the start. */
export function createAuditRetention(options: RetentionOptions): AuditRetention {
  const { locks, log, clock } = options;
  let last = Number.NEGATIVE_INFINITY;
  let running: Promise<number> | undefined;

  async function sweepLocked(): Promise<number> {
    const release = await locks.acquire("audit:sweep", { ttlMs: LOCK_MS });
    if (release === undefined) return 0;
    try {
      return await sweepNow(options);
    } finally {
      await release();
    }
  }

  function sweep(): Promise<number> {
    last = clock();
    running ??= sweepLocked().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function sweepIfDue(): Promise<void> {
    if (clock() - last < DAY) return;
    await sweep().catch((error: unknown) => log.error({ error }, "old audit events could not be removed"));
  }

  const timer = setInterval(() => void sweepIfDue(), HOUR);
  timer.unref();
  return {
    sweep,
    sweepIfDue,
    async close() {
      clearInterval(timer);
      await Promise.allSettled([running]);
    },
  };
}

async function sweepNow({ store, keyring, retention, log, clock }: RetentionOptions): Promise<number> {
  const kept = retentionMs(retention());
  if (kept === Number.POSITIVE_INFINITY) return 0;
  const horizon = clock() - kept;
  const complain = (line: string) => log.error({ line }, "the audit is not as it was written; see audit verify");
  const read = await readCheckpoints(store, await openAuditKeys(store, keyring, log), complain);
  const checkpoints = createCheckpoints({ store, log, clock });
  const key = async () => await signingKey(store, keyring, log);
  let removed = await removeEvents(store, { chainId: null, at: { [Op.lt]: new Date(horizon) } });
  const cut = new Set<string>();
  for (const [chainId, state] of read.chains) {
    if (!isOver(state, horizon, clock())) continue;
    if (!state.cut) {
      await verifyChain(store, { chainId, ...state }, async (line) => complain(line));
      const { sequence, hash } = await endOf(store, chainId, state);
      await checkpoints.append(await key(), { kind: "cut", chainId, sequence, hash });
    }
    removed += await removeEvents(store, { chainId });
    cut.add(chainId);
  }
  const from = firstNeeded(read, cut);
  const first = from > read.from ? await store.models.auditCheckpoints.findOne({ where: { number: from } }) : null;
  if (first !== null) {
    const { number, previousSignature } = first;
    await checkpoints.append(await key(), {
      kind: "trimmed",
      chainId: null,
      sequence: number,
      hash: previousSignature,
    });
    await store.models.auditCheckpoints.destroy({ where: { number: { [Op.lt]: number } } });
  }
  if (removed > 0) log.info({ removed, chains: cut.size }, "audit events older than the retention were removed");
  return removed;
}

/** Its newest event is too old, and its process adds nothing more; see `CHAIN_MS`. */
function isOver({ openedAt }: ChainState, horizon: number, now: number): boolean {
  const newestAt = openedAt.getTime() + CHAIN_MS;
  return newestAt < horizon && newestAt < now - DAY;
}

/** The last link, which a process that crashed may have written behind its last checkpoint. */
async function endOf(store: Store, chainId: string, state: ChainState): Promise<Pick<ChainState, "sequence" | "hash">> {
  let end: Pick<ChainState, "sequence" | "hash"> = state;
  for (const [column, hash] of [["sequence", "hash"] as const, ["endSequence", "endHash"] as const]) {
    const row = await store.models.auditEvents.findOne({ where: { chainId }, order: [[column, "DESC"]] });
    const link = { sequence: row?.[column] ?? 0, hash: row?.[hash] ?? "" };
    if (link.sequence > end.sequence) end = link;
  }
  return { sequence: end.sequence, hash: end.hash };
}

/** The number of the first checkpoint that a chain with events still needs; else the newest stays. */
function firstNeeded({ chains, last, from }: CheckpointsRead, cut: ReadonlySet<string>): number {
  let needed = last?.number ?? from;
  for (const [chainId, state] of chains) if (!cut.has(chainId)) needed = Math.min(needed, state.first);
  return needed;
}

/** A batch at a time, so that nobody waits for long. */
async function removeEvents(
  store: Store,
  where: NonNullable<Parameters<typeof store.models.auditEvents.findAll>[0]>["where"],
): Promise<number> {
  const { auditEvents } = store.models;
  for (let removed = 0; ; ) {
    const rows = await auditEvents.findAll({ attributes: ["id"], ...(where && { where }), limit: BATCH });
    if (rows.length === 0) return removed;
    removed += await auditEvents.destroy({ where: { id: rows.map(({ id }) => id) } });
  }
}
