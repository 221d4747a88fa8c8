import { resolve } from "node:path";

interface Waiter {
  readonly who: object;
  settle(granted: boolean): void;
}

/**
 * Lets one connection of this process write to a file at a time, and makes the others wait without blocking.
 *
 * `node:sqlite` is synchronous: SQLite's own busy timeout would stop the event loop while the writer that it waits
 * for lives on that same loop and cannot finish.
 */
export class WriterLock {
  #holder: object | undefined;
  readonly #waiting: Waiter[] = [];

  /** Waits for the lock, at most `timeoutMs`; false where that was not enough. First come, first served. */
  acquire(who: object, timeoutMs: number): Promise<boolean> {
    if (this.#holder === undefined) {
      this.#holder = who;
      return Promise.resolve(true);
    }
    return new Promise((settled) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        settled(false);
      }, timeoutMs);
      const waiter: Waiter = {
        who,
        settle(granted) {
          clearTimeout(timer);
          settled(granted);
        },
      };
      this.#waiting.push(waiter);
    });
  }

  isHeldBy(who: object): boolean {
    return this.#holder === who;
  }

  /** Hands the lock to the next in line; without effect where `who` does not hold it. */
  release(who: object): void {
    if (this.#holder !== who) return;
    const next = this.#waiting.shift();
    this.#holder = next?.who;
    next?.settle(true);
  }

  /** Takes a connection that is being closed out of the queue. */
  abandon(who: object): void {
    for (const waiter of this.#waiting.filter((one) => one.who === who)) {
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      waiter.settle(false);
    }
    this.release(who);
  }
}

const locks = new Map<string, WriterLock>();

/** The lock of a database file, the same for every connection in this process. */
export function writerLockOf(filename: string): WriterLock {
  if (filename === ":memory:") return new WriterLock();
  const path = resolve(filename);
  let lock = locks.get(path);
  if (lock === undefined) {
    lock = new WriterLock();
    locks.set(path, lock);
  }
  return lock;
}
