/** Reads the checkpoints in order, verifies them, and says what they know about each chain. */
import { Op } from "sequelize";
import type { Store } from "../store/database.ts";
import type { AuditCheckpointRow } from "../store/models/audit-checkpoints.ts";
import { BEGINNING, checkpointSignature } from "./audit-chain.ts";
import type { AuditKey } from "./audit-keys.ts";

/** A checkpoint that was noted elsewhere. */
export interface Anchor {
  readonly number: number;
  readonly signature: string;
}

/** What the checkpoints say about one chain. */
export interface ChainState {
  readonly key: Buffer;
  /** The furthest link that a checkpoint names, and its hash. */
  readonly sequence: number;
  readonly hash: string;
  /** Number of its newest checkpoint, and of its first one that is left. */
  readonly number: number;
  readonly first: number;
  readonly openedAt: Date;
  readonly cut: boolean;
}

export interface CheckpointsRead {
  readonly count: number;
  /** Numbers that are there. */
  readonly from: number;
  readonly last: Anchor | undefined;
  readonly chains: ReadonlyMap<string, ChainState>;
  /** When the first chain began; undefined where its checkpoint was trimmed, or there is none. */
  readonly beganAt: Date | undefined;
}

const PAGE = 500;

/** Verifies all checkpoints; reports each break in one line. One that was changed counts for nothing. */
export async function readCheckpoints(
  store: Store,
  keys: ReadonlyMap<string, AuditKey>,
  report: (line: string) => void,
  anchor?: Anchor,
): Promise<CheckpointsRead> {
  const chains = new Map<string, ChainState>();
  let first: AuditCheckpointRow | undefined;
  let last: AuditCheckpointRow | undefined;
  let trimmed: AuditCheckpointRow | undefined;
  let anchored = anchor === undefined;
  let count = 0;
  for await (const entry of eachCheckpoint(store)) {
    count += 1;
    first ??= entry;
    if (last !== undefined) reportPlace(last, entry, report);
    last = entry;
    if (anchor?.number === entry.number) anchored = anchor.signature === entry.signature;
    const key = keys.get(entry.keyId);
    if (key === undefined) report(`checkpoint ${entry.number}: its key is not here, or the keyring does not open it`);
    else if (checkpointSignature(key.key, entry) !== entry.signature) {
      report(`checkpoint ${entry.number}: it is not as it was signed`);
    } else if (entry.kind === "trimmed") trimmed = entry;
    else note(chains, entry, key.key);
  }
  reportBeginning(first, trimmed, report);
  if (!anchored && anchor !== undefined && (first === undefined || anchor.number >= first.number)) {
    report(`checkpoint ${anchor.number}: it is not the one that was noted elsewhere`);
  }
  if (first === undefined && (await store.models.auditEvents.count({ where: { chainId: { [Op.ne]: null } } })) > 0) {
    report("all checkpoints are missing");
  }
  return {
    count,
    from: first?.number ?? 0,
    last: last && { number: last.number, signature: last.signature },
    chains,
    beganAt: first?.number === 1 ? first.at : undefined,
  };
}

async function* eachCheckpoint(store: Store): AsyncGenerator<AuditCheckpointRow> {
  for (let after = -1; ; ) {
    const rows = await store.models.auditCheckpoints.findAll({
      where: { number: { [Op.gt]: after } },
      order: [["number", "ASC"]],
      limit: PAGE,
    });
    for (const row of rows) yield row.get({ plain: true });
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.number;
  }
}

function reportPlace(before: AuditCheckpointRow, entry: AuditCheckpointRow, report: (line: string) => void): void {
  const missing = entry.number - before.number - 1;
  if (missing > 0) report(`${range("checkpoint", before.number + 1, entry.number - 1)} missing`);
  else if (entry.previousSignature !== before.signature) {
    report(`checkpoint ${entry.number}: it does not follow the one before it`);
  }
}

/** The first checkpoint is number 1, or one up to which the retention trimmed them. */
function reportBeginning(
  first: AuditCheckpointRow | undefined,
  trimmed: AuditCheckpointRow | undefined,
  report: (line: string) => void,
): void {
  if (first === undefined) return;
  const { number, previousSignature } = first;
  const begins =
    number === 1
      ? previousSignature === BEGINNING
      : trimmed !== undefined &&
        (number < trimmed.sequence || (number === trimmed.sequence && previousSignature === trimmed.hash));
  if (!begins)
    report(number === 1 ? "checkpoint 1: it is not the first" : `${range("checkpoint", 1, number - 1)} missing`);
}

function note(chains: Map<string, ChainState>, entry: AuditCheckpointRow, key: Buffer): void {
  const { chainId, number, sequence, hash, at } = entry;
  if (chainId === null) return;
  const known = chains.get(chainId) ?? { key, sequence: 0, hash: BEGINNING, first: number, openedAt: at, cut: false };
  const furthest = sequence >= known.sequence ? { sequence, hash } : {};
  chains.set(chainId, { ...known, ...furthest, number, cut: known.cut || entry.kind === "cut" });
}

/** `link 5 is`, `links 5 to 7 are`. */
export function range(what: string, from: number, to: number): string {
  return from === to ? `${what} ${from} is` : `${what}s ${from} to ${to} are`;
}
