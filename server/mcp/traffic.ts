/** Calls in flight, so that a server that stops lets them finish; and open streams, so that a dead token ends them. */
import type { ServerResponse } from "node:http";

export interface Traffic {
  /** Whether new requests are turned away. */
  readonly stopping: boolean;
  /** Counts a request until the returned function is called. */
  enter(): () => void;
  /** Notes a stream that stays open for as long as its client and its token want; `keys` are what it may be cut by. */
  stream(keys: readonly string[], response: ServerResponse): void;
  /** Ends the streams of a token that is not valid any more, or of a principal whose rights changed. */
  cut(key: string): void;
  /** Turns new requests away; resolves when the last one left, or after `limitMs`. */
  stop(limitMs: number): Promise<void>;
}

/** Makes the counter of this process. */
export function createTraffic(): Traffic {
  let inFlight = 0;
  let stopping = false;
  let empty: (() => void) | undefined;
  const streams = new Map<string, Set<ServerResponse>>();
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
    stream(keys, response) {
      for (const key of keys) {
        const open = streams.get(key) ?? new Set();
        streams.set(key, open.add(response));
        response.once("close", () => {
          open.delete(response);
          if (open.size === 0 && streams.get(key) === open) streams.delete(key);
        });
      }
    },
    cut(key) {
      for (const response of streams.get(key) ?? []) response.destroy();
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
