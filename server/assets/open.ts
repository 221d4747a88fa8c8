/** The kept files of a deployment. */
import { join } from "node:path";
import type { Log } from "../../adapters/contract.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { type AssetKeeper, createAssetKeeper } from "./assets.ts";
import { createDirectoryStorage } from "./directory.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { type AssetSweep, createAssetSweep } from "./sweep.ts";

export interface AssetsOptions {
  readonly store: Store;
  /** Absolute path. */
  readonly dataDir: string;
  readonly locks: Locks;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface OpenedAssets extends AssetSweep {
  readonly keeper: AssetKeeper;
}

/** Opens them and begins to sweep. */
export async function openAssets({ store, dataDir, locks, log, clock }: AssetsOptions): Promise<OpenedAssets> {
  const storage = createDirectoryStorage(join(dataDir, "assets"));
  const keeper = createAssetKeeper({ store, storage, limits: () => DEFAULT_LIMITS, log, clock });
  return { keeper, ...createAssetSweep({ store, storage, locks, log, clock }) };
}
