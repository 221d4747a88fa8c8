/** Appends checkpoints: one line of signed entries for all processes. They are rare, so that these may contend. */
import { setTimeout as delay } from "node:timers/promises";
import { UniqueConstraintError } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { AuditCheckpointRow } from "../store/models/audit-checkpoints.ts";
import { BEGINNING, checkpointSignature } from "./audit-chain.ts";
import type { AuditKey } from "./audit-keys.ts";

export type NewCheckpoint = Pick<AuditCheckpointRow, "kind" | "chainId" | "sequence" | "hash">;

export interface Checkpoints {
  /** Signs and appends an entry. Rejects where the database does not take it. */
  append(key: AuditKey, entry: NewCheckpoint): Promise<void>;
}

export interface CheckpointOptions {
  store: Store;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

/** Processes that append at the same moment take one number after the other. */
const ATTEMPTS = 20;

type Last = Pick<AuditCheckpointRow, "number" | "signature">;

export function createCheckpoints({ store, log, clock }: CheckpointOptions): Checkpoints {
  const { auditCheckpoints } = store.models;
  let seen: Last = { number: 0, signature: BEGINNING };

  // This process remembers how far the line had come: where its end was removed meanwhile, the gap stays to be seen.
  async function last(): Promise<Last> {
    const row = await auditCheckpoints.findOne({ order: [["number", "DESC"]] });
    const stored = row ?? { number: 0, signature: BEGINNING };
    if (stored.number >= seen.number) return stored;
    log.error({ expected: seen.number, found: stored.number }, "checkpoints of the audit are gone from the database");
    return seen;
  }

  return {
    async append(key, entry) {
      for (let attempt = 1; ; attempt += 1) {
        const { number, signature: previousSignature } = await last();
        const unsigned = { ...entry, number: number + 1, at: new Date(clock()), keyId: key.id, previousSignature };
        const signature = checkpointSignature(key.key, unsigned);
        try {
          await auditCheckpoints.create({ ...unsigned, signature });
          seen = { number: number + 1, signature };
          return;
        } catch (error) {
          if (!(error instanceof UniqueConstraintError) || attempt === ATTEMPTS) throw error;
          await delay(Math.random() * 5 * attempt);
        }
      }
    },
  };
}
