/** Calls in flight, so that a server that stops lets them finish. */

export interface Traffic {
  /** Whether new requests are turned away. */
  readonly stopping: boolean;
  /** Counts a request until the returned function is called. */
  enter(): () => void;
  /** Turns new requests away; resolves when the last one left, or after `limitMs`. */
  stop(limitMs: number): Promise<void>;
}

/** Makes the counter of this process. */
export function createTraffic(): Traffic {
  let inFlight = 0;
  let stopping = false;
  let empty: (() => void) | undefined;
  return {
    get stopping() {
      return stopping;
    },
    enter() {
      inFlight += 1;
      let inside = true;
      return () => {
        if (!inside) return;
        inside = false;
        inFlight -= 1;
        if (inFlight === 0) empty?.();
      };
    },
    async stop(limitMs) {
      stopping = true;
      if (inFlight === 0) return;
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        empty = resolve;
        timer = setTimeout(resolve, limitMs);
      });
      clearTimeout(timer);
    },
  };
}
