import type { Log } from "../../adapters/contract.ts";
import type { Listener, Payload } from "./contract.ts";

/** The listeners of this process, by topic. */
export class Listeners {
  readonly #topics = new Map<string, Set<{ hear: Listener }>>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  add(topic: string, hear: Listener): () => void {
    const listeners = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, listeners);
    const listener = { hear };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  deliver(topic: string, payload: Payload): void {
    for (const { hear } of [...(this.#topics.get(topic) ?? [])]) {
      try {
        hear(payload);
      } catch (error) {
        this.#log.error({ error, topic }, "a listener of the bus failed");
      }
    }
  }

  /** Tells every listener that messages may have been lost. */
  deliverLoss(): void {
    for (const topic of this.#topics.keys()) this.deliver(topic, {});
  }

  clear(): void {
    this.#topics.clear();
  }
}
