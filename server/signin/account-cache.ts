/** Remembers accounts as they are stored (sealed) for seconds, so that a call does not wait for the database. */
import type { Account } from "./types.ts";

const KNOWN_MS = 30_000;
const UNKNOWN_MS = 5_000;
const CAPACITY = 10_000;

export interface AccountCache {
  /** What is known, else what `load` finds; many who ask at once share one load. */
  get(key: string, load: () => Promise<Account | undefined>): Promise<Account | undefined>;
  /** The account changed here or elsewhere; undefined: any may have. */
  drop(key: string | undefined): void;
}

/** @param clock milliseconds since the epoch */
export function createAccountCache(clock: () => number): AccountCache {
  const known = new Map<string, { account: Account | undefined; until: number }>();
  const loading = new Map<string, Promise<Account | undefined>>();

  const load = (key: string, read: () => Promise<Account | undefined>): Promise<Account | undefined> => {
    const promise = read().then(
      (account) => {
        // Dropped meanwhile: what was read may be older than the change.
        if (loading.get(key) === promise) {
          loading.delete(key);
          known.set(key, { account, until: clock() + (account ? KNOWN_MS : UNKNOWN_MS) });
          const oldest = known.size > CAPACITY ? known.keys().next().value : undefined;
          if (oldest !== undefined) known.delete(oldest);
        }
        return account;
      },
      (error: unknown) => {
        if (loading.get(key) === promise) loading.delete(key);
        throw error;
      },
    );
    loading.set(key, promise);
    return promise;
  };

  return {
    get(key, read) {
      const entry = known.get(key);
      if (entry && clock() < entry.until) return Promise.resolve(entry.account);
      known.delete(key);
      return loading.get(key) ?? load(key, read);
    },
    drop(key) {
      if (key === undefined) {
        known.clear();
        loading.clear();
      } else {
        known.delete(key);
        loading.delete(key);
      }
    },
  };
}
