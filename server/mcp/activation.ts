/**
 * Found tools that a caller also sees in its lists (design section 6): a state of the principal, with its grant or
 * token, at one endpoint. At most 24, the oldest out; a day unused and it is gone. State lives in the store; this
 * process keeps a copy and other processes say when it is stale.
 */
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Place } from "./notifier.ts";

export interface Activations {
  /** Names of the active tools, unsorted. */
  active(place: Place): Promise<ReadonlySet<string>>;
  /** Activates tools; resolves with those that were not active before. */
  activate(place: Place, names: readonly string[]): Promise<string[]>;
  /** Notes a use, so that a tool in use is not the oldest. */
  touch(place: Place, name: string): void;
  /** Called when another process changed a place's activations. */
  onRemoteChange(listener: (place: Place) => void): () => void;
  close(): void;
}

export const MOST_ACTIVE = 24;
const IDLE_MS = 24 * 3_600_000;
/** A touch is written at most this often per tool. */
const TOUCH_EVERY_MS = 60_000;
const CACHED_PLACES = 5_000;

interface Entry {
  lastUsedAt: number;
  writtenAt: number;
}

/** @param origin tells this process's own bus messages from others' */
export function createActivations({
  store,
  bus,
  clock,
  origin,
}: {
  store: Store;
  bus: Bus;
  clock: () => number;
  origin: string;
}): Activations {
  const cache = new Map<string, Promise<Map<string, Entry>>>();
  const listeners = new Set<(place: Place) => void>();
  const keyOf = (place: Place) => `${place.endpointId}|${place.holderKey}`;
  const { activations } = store.models;

  const unsubscribe = bus.subscribe("activations", (message) => {
    const { endpointId, holderKey } = message;
    // An empty message: some may have been lost, so nothing that is remembered can be relied on.
    if (Object.keys(message).length === 0) cache.clear();
    if (message["origin"] === origin || typeof endpointId !== "string" || typeof holderKey !== "string") return;
    cache.delete(keyOf({ endpointId, holderKey }));
    for (const listener of listeners) listener({ endpointId, holderKey });
  });

  function load(place: Place): Promise<Map<string, Entry>> {
    const key = keyOf(place);
    const known = cache.get(key);
    if (known) return known;
    const loading = activations
      .findAll({ where: { endpointId: place.endpointId, holderKey: place.holderKey } })
      .then(
        (rows) =>
          new Map(
            rows.map((row) => [
              row.toolName,
              { lastUsedAt: row.lastUsedAt.getTime(), writtenAt: row.lastUsedAt.getTime() },
            ]),
          ),
      );
    cache.set(key, loading);
    loading.catch(() => cache.delete(key));
    if (cache.size > CACHED_PLACES) cache.delete(cache.keys().next().value ?? key);
    return loading;
  }

  function live(entries: Map<string, Entry>): string[] {
    const now = clock();
    return [...entries].filter(([, entry]) => now - entry.lastUsedAt < IDLE_MS).map(([name]) => name);
  }

  return {
    async active(place) {
      return new Set(live(await load(place)));
    },
    async activate(place, names) {
      const entries = await load(place);
      const before = new Set(live(entries));
      const now = clock();
      const added = names.filter((name, index) => !before.has(name) && names.indexOf(name) === index);
      const at = new Date(now);
      for (const name of names) entries.set(name, { lastUsedAt: now, writtenAt: now });
      const oldestFirst = [...entries]
        .filter(([name]) => !names.includes(name))
        .sort(([, a], [, b]) => a.lastUsedAt - b.lastUsedAt);
      const dropped = oldestFirst
        .filter(([, entry], index) => index < entries.size - MOST_ACTIVE || now - entry.lastUsedAt >= IDLE_MS)
        .map(([name]) => name);
      for (const name of dropped) entries.delete(name);
      await store.transaction(async (transaction) => {
        if (dropped.length > 0) await activations.destroy({ where: { ...place, toolName: dropped }, transaction });
        for (const toolName of new Set(names)) {
          const [changed] = await activations.update(
            { lastUsedAt: at },
            { where: { ...place, toolName }, transaction },
          );
          if (changed === 0)
            await activations.create({ ...place, toolName, activatedAt: at, lastUsedAt: at }, { transaction });
        }
      });
      if (added.length > 0 || dropped.length > 0) await bus.publish("activations", { ...place, origin });
      return added;
    },
    touch(place, name) {
      const loaded = cache.get(keyOf(place));
      void loaded?.then((entries) => {
        const entry = entries.get(name);
        if (!entry) return;
        entry.lastUsedAt = clock();
        if (entry.lastUsedAt - entry.writtenAt < TOUCH_EVERY_MS) return;
        entry.writtenAt = entry.lastUsedAt;
        return activations.update({ lastUsedAt: new Date(entry.lastUsedAt) }, { where: { ...place, toolName: name } });
      });
    },
    onRemoteChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: unsubscribe,
  };
}
