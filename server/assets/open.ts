/** The kept files of a deployment, where `jackfield.yml` wants them. */
import { join } from "node:path";
import type { Log } from "../../adapters/contract.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { type AssetKeeper, createAssetKeeper } from "./assets.ts";
import { createDirectoryStorage } from "./directory.ts";
import type { AssetLimits } from "./limits.ts";
import { openS3Storage, type S3Options } from "./s3.ts";
import type { AssetStorage } from "./storage.ts";
import { type AssetSweep, createAssetSweep } from "./sweep.ts";

/** `assets` of `jackfield.yml`. */
export type StorageChoice = { readonly store: "directory" } | ({ readonly store: "s3" } & Omit<S3Options, "fetch">);

export interface AssetsOptions {
  readonly choice: StorageChoice;
  readonly limits: () => AssetLimits;
  readonly store: Store;
  /** Absolute path. */
  readonly dataDir: string;
  /** Guarded way out, for a storage that is a service. */
  readonly fetch: typeof globalThis.fetch;
  readonly locks: Locks;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface OpenedAssets extends AssetSweep {
  readonly keeper: AssetKeeper;
}

/** Opens them and begins to sweep. Throws `start_failed` where a package is missing. */
export async function openAssets(options: AssetsOptions): Promise<OpenedAssets> {
  const { store, locks, log, clock, limits } = options;
  const storage = await storageOf(options);
  const keeper = createAssetKeeper({ store, storage, limits, log, clock });
  return { keeper, ...createAssetSweep({ store, storage, locks, log, clock }) };
}

function storageOf({ choice, dataDir, fetch }: AssetsOptions): Promise<AssetStorage> {
  if (choice.store === "s3") return openS3Storage({ ...choice, fetch });
  return Promise.resolve(createDirectoryStorage(join(dataDir, "assets")));
}
