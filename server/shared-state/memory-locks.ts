import type { Locks } from "./contract.ts";

interface Holder {
  expiry: NodeJS.Timeout;
}

interface Waiter {
  ttlMs: number;
  grant(holder: Holder): void;
}

interface Lock {
  holder: Holder;
  waiting: Set<Waiter>;
}

/** Locks of this process. First come, first served. */
export function createMemoryLocks(): Locks {
  const locks = new Map<string, Lock>();

  function hold(name: string, ttlMs: number): Holder {
    const holder: Holder = { expiry: setTimeout(() => release(name, holder), ttlMs) };
    holder.expiry.unref();
    return holder;
  }

  function release(name: string, holder: Holder): void {
    clearTimeout(holder.expiry);
    const lock = locks.get(name);
    if (lock?.holder !== holder) return;
    const [next] = lock.waiting;
    if (next === undefined) {
      locks.delete(name);
      return;
    }
    lock.waiting.delete(next);
    lock.holder = hold(name, next.ttlMs);
    next.grant(lock.holder);
  }

  return {
    async acquire(name, { ttlMs, waitMs = 0 }) {
      const releaser = (holder: Holder) => async () => release(name, holder);
      const lock = locks.get(name);
      if (lock === undefined) {
        const holder = hold(name, ttlMs);
        locks.set(name, { holder, waiting: new Set() });
        return releaser(holder);
      }
      if (waitMs <= 0) return undefined;
      return new Promise((settled) => {
        const timer = setTimeout(() => {
          lock.waiting.delete(waiter);
          settled(undefined);
        }, waitMs);
        const waiter: Waiter = {
          ttlMs,
          grant(holder) {
            clearTimeout(timer);
            settled(releaser(holder));
          },
        };
        lock.waiting.add(waiter);
      });
    },
  };
}
