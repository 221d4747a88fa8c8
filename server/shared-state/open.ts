import type { Log } from "../../adapters/contract.ts";
import type { Config } from "../config.ts";
import type { Store } from "../store/database.ts";
import { instanceIdOf } from "../store/instance.ts";
import type { SharedState } from "./contract.ts";
import { openMemoryState } from "./memory.ts";
import { openRedisState } from "./redis.ts";

/**
 * Chooses the form of the shared state, once at start: Redis where the configuration names one, else memory.
 * The store must be migrated. Throws `start_failed` where Redis does not answer.
 */
export async function openSharedState({
  config,
  store,
  log,
  clock,
}: {
  config: Pick<Config, "redisUrl">;
  store: Store;
  log: Log;
  clock?: () => number;
}): Promise<SharedState> {
  if (config.redisUrl === undefined) return openMemoryState({ store, log, ...(clock && { clock }) });
  return openRedisState({ url: config.redisUrl, namespace: await instanceIdOf(store), log });
}
