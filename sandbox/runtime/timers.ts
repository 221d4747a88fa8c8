/** `node:timers` and `node:timers/promises`, and the globals: the worker keeps the time and calls `fire`. */
import { startTimer, stopTimer } from "./bridge.ts";
import { standIn } from "./unavailable.ts";

type Callback = (...args: unknown[]) => unknown;

const LONGEST = 2 ** 31 - 1;
const running = new Map<number, Timeout>();
let last = 0;

export class Timeout {
  readonly id = ++last;
  readonly #callback: Callback;
  readonly #args: unknown[];
  readonly #milliseconds: number;
  readonly #repeats: boolean;

  constructor(callback: Callback, milliseconds: unknown, args: unknown[], repeats: boolean) {
    if (typeof callback !== "function") {
      throw Object.assign(new TypeError("The callback must be a function"), { code: "ERR_INVALID_ARG_TYPE" });
    }
    const wanted = Number(milliseconds);
    this.#callback = callback;
    this.#args = args;
    // Node: what is no number from 1 to 2^31-1 means 1.
    this.#milliseconds = wanted >= 1 && wanted <= LONGEST ? Math.trunc(wanted) : 1;
    this.#repeats = repeats;
    this.start();
  }

  start(): void {
    running.set(this.id, this);
    startTimer(this.id, this.#milliseconds);
  }

  run(): void {
    running.delete(this.id);
    if (this.#repeats) this.start();
    this.#callback(...this.#args);
  }

  close(): this {
    if (running.delete(this.id)) stopTimer(this.id);
    return this;
  }

  refresh(): this {
    this.close();
    this.start();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.toPrimitive](): number {
    return this.id;
  }
}

/** The worker says that a timer is due. */
export function fire(id: number): void {
  running.get(id)?.run();
}

/** Forgets the timers that a finished call left. */
export function forgetTimers(): void {
  running.clear();
}

export function setTimeout(callback: Callback, milliseconds?: unknown, ...args: unknown[]): Timeout {
  return new Timeout(callback, milliseconds, args, false);
}

export function setInterval(callback: Callback, milliseconds?: unknown, ...args: unknown[]): Timeout {
  return new Timeout(callback, milliseconds, args, true);
}

export function setImmediate(callback: Callback, ...args: unknown[]): Timeout {
  return new Timeout(callback, 1, args, false);
}

export function clearTimeout(timeout: unknown): void {
  if (timeout instanceof Timeout) timeout.close();
  else if (typeof timeout === "number" || typeof timeout === "string") running.get(Number(timeout))?.close();
}

export const clearInterval = clearTimeout;
export const clearImmediate = clearTimeout;

const wait = <T>(milliseconds?: number, value?: T): Promise<T | undefined> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(value), milliseconds);
  });

export const timersPromises = {
  setTimeout: wait,
  setImmediate: <T>(value?: T) => wait(1, value),
  setInterval: standIn("timers/promises.setInterval"),
  scheduler: { wait: (milliseconds?: number) => wait(milliseconds), yield: () => wait(1) },
};

export const timers = {
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval,
  clearImmediate,
  promises: timersPromises,
};
