/** The shared state of one process. Its messages also reach other processes on the same database. */
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import { openChangeTable } from "./change-table.ts";
import type { Bus, Cache, SharedState } from "./contract.ts";
import { Listeners } from "./listeners.ts";
import { createMemoryLimiter } from "./memory-limiter.ts";
import { createMemoryLocks } from "./memory-locks.ts";

const CACHE_CAPACITY = 10_000;

/** Locks, limits and cache are those of this process alone: without Redis there is one server, and the CLI beside it. */
export async function openMemoryState({
  store,
  log,
  clock = Date.now,
}: {
  store: Store;
  log: Log;
  clock?: () => number;
}): Promise<SharedState> {
  const bus = await openBus(store, log, clock);
  return {
    bus,
    locks: createMemoryLocks(),
    limiter: createMemoryLimiter(clock),
    cache: createCache(clock),
    close: () => bus.close(),
  };
}

async function openBus(store: Store, log: Log, clock: () => number): Promise<Bus> {
  const listeners = new Listeners(log);
  const table = await openChangeTable(store, log, clock, (topic, payload) => listeners.deliver(topic, payload));
  return {
    async publish(topic, payload) {
      listeners.deliver(topic, payload);
      try {
        await table.write(topic, payload);
      } catch (error) {
        log.warn({ error, topic }, "a message could not be passed on to other processes");
      }
    },
    subscribe: (topic, listener) => listeners.add(topic, listener),
    async close() {
      listeners.clear();
      await table.close();
    },
  };
}

function createCache(clock: () => number): Cache {
  const entries = new Map<string, { value: string; until: number }>();
  return {
    async get(key) {
      const entry = entries.get(key);
      if (entry === undefined || entry.until > clock()) return entry?.value;
      entries.delete(key);
      return undefined;
    },
    async set(key, value, ttlMs) {
      entries.delete(key);
      entries.set(key, { value, until: clock() + ttlMs });
      const oldest = entries.size > CACHE_CAPACITY ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    async delete(key) {
      entries.delete(key);
    },
  };
}
