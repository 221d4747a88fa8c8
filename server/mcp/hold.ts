/**
 * Holding the answer of `tool_search` until the caller has listed tools again (design section 6). Clients that
 * re-list on `list_changed` offer the new tool to the model in the same turn only if the list comes first.
 */
import type { Place } from "./notifier.ts";

/** Longest hold, in milliseconds. */
const HOLD_MS = 400;
/**
 * From the client's tools/list to the answer, in milliseconds: the list must be there, and be taken in, before the
 * answer is. Measured with Gemini CLI and opencode, which otherwise offer the old list to the model once more.
 */
const TAKE_IN_MS = 100;
/** A client that let this many holds expire does not re-list; it is not held again. */
const EXPIRED_HOLDS = 2;
const REMEMBERED = 5_000;

export interface Holds {
  /** Resolves when the holder lists tools, or after 400 ms. At once for a client that never re-lists. */
  wait(place: Place, signal: AbortSignal): Promise<void>;
  /** The holder listed tools. */
  listed(place: Place): void;
}

/** Makes the holds of this process. */
export function createHolds(): Holds {
  /** By holder: what to do when it lists. */
  const waiting = new Map<string, Set<() => void>>();
  const expired = new Map<string, number>();
  const keyOf = (place: Place) => `${place.endpointId}|${place.holderKey}`;
  return {
    wait(place, signal) {
      const key = keyOf(place);
      if ((expired.get(key) ?? 0) >= EXPIRED_HOLDS || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const set = waiting.get(key) ?? new Set();
        waiting.set(key, set);
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          set.delete(onListed);
          if (set.size === 0 && waiting.get(key) === set) waiting.delete(key);
          resolve();
        };
        let timer = setTimeout(() => {
          expired.set(key, (expired.get(key) ?? 0) + 1);
          if (expired.size > REMEMBERED) expired.delete(expired.keys().next().value ?? key);
          end();
        }, HOLD_MS);
        const onListed = () => {
          clearTimeout(timer);
          timer = setTimeout(end, TAKE_IN_MS);
        };
        signal.addEventListener("abort", end, { once: true });
        set.add(onListed);
      });
    },
    listed(place) {
      const key = keyOf(place);
      expired.delete(key);
      for (const onListed of waiting.get(key) ?? []) onListed();
    },
  };
}
