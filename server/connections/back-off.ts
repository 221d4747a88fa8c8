/** Keeps an upstream that cannot be opened from being hammered: the last failure is told again until its time is over. */

const FIRST_MS = 500;
const LONGEST_MS = 30_000;

export interface BackOff {
  /** Throws the last failure again while the key backs off. */
  check(key: string): void;
  /** The last failure while the key backs off. */
  failure(key: string): unknown;
  failed(key: string, error: unknown): void;
  succeeded(key: string): void;
}

/** @param clock milliseconds since the epoch */
export function createBackOff(clock: () => number): BackOff {
  const failures = new Map<string, { count: number; until: number; error: unknown }>();
  const failing = (key: string) => {
    const failure = failures.get(key);
    return failure !== undefined && clock() < failure.until ? failure : undefined;
  };
  return {
    check(key) {
      const failure = failing(key);
      if (failure) throw failure.error;
    },
    failure: (key) => failing(key)?.error,
    failed(key, error) {
      const count = (failures.get(key)?.count ?? 0) + 1;
      const wait = Math.min(LONGEST_MS, FIRST_MS * 2 ** (count - 1));
      // Up to a quarter less, so that replicas do not try in step.
      failures.set(key, { count, until: clock() + wait * (1 - Math.random() / 4), error });
      if (failures.size > 10_000) failures.delete(failures.keys().next().value ?? key);
    },
    succeeded(key) {
      failures.delete(key);
    },
  };
}
