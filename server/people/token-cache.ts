/** Remembers for seconds what the database said about a token, good or bad. */

const KNOWN_MS = 30_000;
const UNKNOWN_MS = 5_000;
const CAPACITY = 10_000;

interface Entry<T> {
  readonly value: T | undefined;
  readonly until: number;
}

export interface TokenCache<T> {
  /** `{ value }` where the answer is known (undefined: there is no such token); undefined where it is not. */
  get(hash: string, now: number): { value: T | undefined } | undefined;
  /** @param notAfter milliseconds since the epoch after which a good answer ends whatever happens */
  set(hash: string, value: T | undefined, now: number, notAfter: number): void;
  clear(): void;
  /** Rises with every `clear`: an answer that was asked for before one must not be kept after it. */
  readonly generation: number;
}

export function createTokenCache<T>(): TokenCache<T> {
  // Apart, so that a flood of wrong tokens cannot push out the right ones.
  const known = new Map<string, Entry<T>>();
  const unknown = new Map<string, Entry<T>>();
  let generation = 0;
  return {
    get(hash, now) {
      for (const entries of [known, unknown]) {
        const entry = entries.get(hash);
        if (entry === undefined) continue;
        if (now < entry.until) return { value: entry.value };
        entries.delete(hash);
      }
      return undefined;
    },
    set(hash, value, now, notAfter) {
      const [entries, until] =
        value === undefined ? [unknown, now + UNKNOWN_MS] : [known, Math.min(now + KNOWN_MS, notAfter)];
      entries.delete(hash);
      entries.set(hash, { value, until });
      const oldest = entries.size > CAPACITY ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    clear() {
      generation += 1;
      known.clear();
      unknown.clear();
    },
    get generation() {
      return generation;
    },
  };
}
