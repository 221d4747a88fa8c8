/** Writes the links of one chain: what is handed over together is committed together. */
import { Op } from "sequelize";
import { ulid } from "ulid";
import type { Store } from "../store/database.ts";
import type { AuditRecord } from "../store/models/audit-events.ts";
import type { NewRow } from "../store/models/table.ts";
import { BEGINNING, type Ending, endHash, eventHash, type Place } from "./audit-chain.ts";
import type { Checkpoints } from "./audit-checkpoints.ts";
import type { AuditKey } from "./audit-keys.ts";

export type NewEvent = NewRow<AuditRecord>;

/** What becomes one link. */
export type Change =
  | { readonly kind: "event"; readonly row: NewEvent & { id: string } }
  | { readonly kind: "end"; readonly id: string; readonly ending: Ending };

/** The event whose outcome is to be written is not there, or has one. */
export class IntentMissing extends Error {
  override readonly name = "IntentMissing";
  readonly id: string;
  constructor(id: string) {
    super(`The audit has no open intent ${id}.`);
    this.id = id;
  }
}

export interface Chain {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Links since the last checkpoint. */
  readonly unchecked: number;
  /**
   * Commits changes, in this order and all or none; one call at a time. Events that an earlier call had committed
   * without learning so are passed over. Rejects with `IntentMissing`, or the database's error.
   */
  write(changes: readonly Change[]): Promise<void>;
  /** Signs how far it has come. */
  checkpoint(kind: "reached" | "closed"): Promise<void>;
}

export interface ChainOptions {
  store: Store;
  checkpoints: Checkpoints;
  key: AuditKey;
  startedAt: number;
}

interface Link extends Place {
  readonly hash: string;
  readonly change: Change;
}

/** Begins a chain. Its `opened` stands in the database before the first event. */
export async function openChain({ store, checkpoints, key, startedAt }: ChainOptions): Promise<Chain> {
  const { auditEvents } = store.models;
  const id = ulid(startedAt);
  let sequence = 0;
  let hash = BEGINNING;
  let checked = 0;
  /** Handed to the database, which did not answer. */
  let unsettled: readonly Link[] = [];
  let recovered: ReadonlySet<string> = new Set();

  await checkpoints.append(key, { kind: "opened", chainId: id, sequence, hash });

  function link(changes: readonly Change[]): Link[] {
    let previousHash = hash;
    return changes.map((change, index) => {
      const place = { chainId: id, sequence: sequence + index + 1, previousHash };
      previousHash =
        change.kind === "event"
          ? eventHash(key.key, place, change.row)
          : endHash(key.key, place, change.id, change.ending);
      return { ...place, hash: previousHash, change };
    });
  }

  function advance(links: readonly Link[]): void {
    ({ sequence, hash } = links.at(-1) ?? { sequence, hash });
  }

  async function commit(links: readonly Link[]): Promise<void> {
    const events = links.flatMap(({ change, ...place }) =>
      change.kind === "event" ? [{ ...change.row, ...place }] : [],
    );
    const ends = links.flatMap(({ change, ...place }) => (change.kind === "end" ? [{ ...change, ...place }] : []));
    // A single statement is a transaction by itself.
    const [event, ...more] = events;
    if (event !== undefined && more.length === 0 && ends.length === 0) await auditEvents.create(event);
    else if (ends.length === 0) await auditEvents.bulkCreate(events);
    else if (ends.length === 1 && events.length === 0) await writeEnds(ends);
    else {
      await store.transaction(async (transaction) => {
        if (events.length > 0) await auditEvents.bulkCreate(events, { transaction });
        await writeEnds(ends, { transaction });
      });
    }
  }

  async function writeEnds(
    ends: readonly (Place & { id: string; ending: Ending; hash: string })[],
    options: Pick<NonNullable<Parameters<typeof auditEvents.update>[1]>, "transaction"> = {},
  ): Promise<void> {
    for (const end of ends) {
      const values = {
        ...end.ending,
        endSequence: end.sequence,
        endPreviousHash: end.previousHash,
        endHash: end.hash,
      };
      const where = { id: end.id, chainId: id, outcome: "open" };
      const [changed] = await auditEvents.update(values, { where, ...options });
      if (changed !== 1) throw new IntentMissing(end.id);
    }
  }

  /** Whether the links that the database did not answer for are there after all: all are, or none. */
  async function settle(): Promise<void> {
    const [first] = unsettled;
    if (first === undefined) return;
    const column = first.change.kind === "event" ? "sequence" : "endSequence";
    const row = await auditEvents.findOne({ where: { chainId: id, [column]: { [Op.eq]: first.sequence } } });
    const found = first.change.kind === "event" ? row?.hash : row?.endHash;
    if (found === first.hash) {
      advance(unsettled);
      recovered = new Set(unsettled.flatMap(({ change }) => (change.kind === "event" ? [change.row.id] : [])));
    }
    unsettled = [];
  }

  return {
    id,
    startedAt,
    get unchecked() {
      return sequence - checked;
    },
    async write(changes) {
      await settle();
      const links = link(changes.filter((change) => change.kind !== "event" || !recovered.has(change.row.id)));
      if (links.length > 0) {
        try {
          await commit(links);
        } catch (error) {
          if (!(error instanceof IntentMissing)) unsettled = links;
          throw error;
        }
        advance(links);
      }
      recovered = new Set();
    },
    async checkpoint(kind) {
      const reached = sequence;
      await checkpoints.append(key, { kind, chainId: id, sequence, hash });
      checked = reached;
    },
  };
}
