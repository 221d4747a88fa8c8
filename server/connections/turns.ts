import { setImmediate } from "node:timers/promises";

/** Work of this process that can wait between two of its steps. */
export interface Turns {
  /** Lets everything else that waits have its turn, where this work has had the process for a while. */
  pass(): Promise<void>;
}

/**
 * @param ms milliseconds that the work may have the process for; a call of somebody else takes a dozen turns, and waits
 *   that long in each
 */
export function takeTurns(ms = 1): Turns {
  let since = performance.now();
  return {
    async pass() {
      if (performance.now() - since < ms) return;
      await setImmediate();
      since = performance.now();
    },
  };
}
