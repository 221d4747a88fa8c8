/** Takes away files whose time is over, and what was left of some that were never finished. */
import { Op } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { storageKey } from "./assets.ts";
import type { AssetStorage } from "./storage.ts";

const EVERY_MS = 10 * 60_000;
const LOCK_MS = 5 * 60_000;
const BATCH = 200;

export interface AssetSweep {
  /** Sweeps now, unless another process does. @returns how many files went */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export interface SweepOptions {
  readonly store: Store;
  readonly storage: AssetStorage;
  readonly locks: Locks;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function createAssetSweep({ store, storage, locks, log, clock }: SweepOptions): AssetSweep {
  const { assets } = store.models;
  let running: Promise<number> | undefined;
  let closed = false;

  const sweepNow = async (): Promise<number> => {
    const release = await locks.acquire("assets:sweep", { ttlMs: LOCK_MS, waitMs: 0 });
    if (release === undefined) return 0;
    let gone = 0;
    let after = "";
    try {
      const started = clock();
      while (!closed && clock() - started < LOCK_MS / 2) {
        const where = { expiresAt: { [Op.lte]: new Date(clock()) }, id: { [Op.gt]: after } };
        const rows = await assets.findAll({ where, order: [["id", "ASC"]], limit: BATCH });
        for (const row of rows) {
          after = row.id;
          // The row goes last: while it is there, the next sweep finds what this one could not remove.
          try {
            await storage.delete(storageKey(row));
            gone += await assets.destroy({ where: { id: row.id } });
          } catch (error) {
            log.warn({ asset: row.id, reason: String(error) }, "an expired file could not be removed");
          }
        }
        if (rows.length < BATCH) break;
      }
      return gone;
    } finally {
      await release();
    }
  };

  const sweep = (): Promise<number> => {
    running ??= sweepNow().finally(() => {
      running = undefined;
    });
    return running;
  };

  const timer = setInterval(() => {
    sweep().catch((error: unknown) => log.error({ reason: String(error) }, "expired files could not be swept"));
  }, EVERY_MS);
  timer.unref();
  return {
    sweep,
    async close() {
      closed = true;
      clearInterval(timer);
      await Promise.allSettled([running]);
    },
  };
}
