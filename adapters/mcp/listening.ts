/**
 * The one `subscriptions/listen` stream of a modern upstream: changed lists for the catalogue, and the resources
 * that callers subscribed to. It is replaced when the set changes and reopened when it ends.
 */
import { SdkError, type SubscriptionFilter } from "@modelcontextprotocol/client";
import type { Log } from "../contract.ts";
import { OWN_REQUEST_MS } from "./lane.ts";
import type { Peer } from "./peer.ts";

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

interface Subscription {
  close(): Promise<void>;
  readonly closed: Promise<unknown>;
}

export class Listening {
  readonly #peer: () => Promise<Peer>;
  readonly #log: Log;
  readonly #callers = new Map<string, Set<string>>();
  #current: Subscription | undefined;
  #turn: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #closed = false;

  constructor(peer: () => Promise<Peer>, log: Log) {
    this.#peer = peer;
    this.#log = log;
  }

  /** Opens the stream, where the upstream has anything to tell. Failures are logged and tried again. */
  start(): void {
    this.#replace().catch((error: unknown) => this.#later(error));
  }

  /** Callers whose subscription covers this resource; the server may tell about a part of what was subscribed. */
  callersOf(uri: string): string[] {
    const exact = this.#callers.get(uri);
    if (exact) return [...exact];
    const parts = [...this.#callers].filter(([subscribed]) => uri.startsWith(subscribed));
    return [...new Set(parts.flatMap(([, callers]) => [...callers]))];
  }

  async subscribe(uri: string, callerKey: string): Promise<void> {
    const callers = this.#callers.get(uri);
    if (callers) {
      callers.add(callerKey);
      return;
    }
    this.#callers.set(uri, new Set([callerKey]));
    try {
      await this.#replace();
    } catch (error) {
      this.#callers.delete(uri);
      throw error;
    }
  }

  async unsubscribe(uri: string, callerKey: string): Promise<void> {
    const callers = this.#callers.get(uri);
    if (!callers?.delete(callerKey) || callers.size > 0) return;
    this.#callers.delete(uri);
    await this.#replace();
  }

  async forget(callerKey: string): Promise<void> {
    let changed = false;
    for (const [uri, callers] of this.#callers) {
      if (!callers.delete(callerKey) || callers.size > 0) continue;
      this.#callers.delete(uri);
      changed = true;
    }
    if (changed) await this.#replace();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#current?.close();
  }

  #replace(): Promise<void> {
    const next = this.#turn.then(() => this.#open());
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #open(): Promise<void> {
    if (this.#closed) return;
    clearTimeout(this.#retry);
    const peer = await this.#peer();
    const filter = this.#filter(peer);
    const previous = this.#current;
    if (Object.keys(filter).length > 0) {
      const opened = await peer.client.listen(filter, { timeout: OWN_REQUEST_MS });
      this.#current = opened;
      this.#retryMs = FIRST_RETRY_MS;
      opened.closed.then(
        (why) => {
          if (this.#current === opened) this.#later(`the stream was closed (${why})`);
        },
        (error: unknown) => this.#later(error),
      );
    } else this.#current = undefined;
    // The new stream is open before the old one goes, so that no change falls between them.
    await previous?.close();
    if (this.#closed) await this.#current?.close();
  }

  #filter(peer: Peer): SubscriptionFilter {
    const offered = peer.client.getServerCapabilities();
    return {
      ...(offered?.tools?.listChanged ? { toolsListChanged: true } : {}),
      ...(offered?.prompts?.listChanged ? { promptsListChanged: true } : {}),
      ...(offered?.resources?.listChanged ? { resourcesListChanged: true } : {}),
      ...(this.#callers.size > 0 ? { resourceSubscriptions: [...this.#callers.keys()] } : {}),
    };
  }

  #later(error: unknown): void {
    if (this.#closed) return;
    const why = error instanceof SdkError || error instanceof Error ? error.message : String(error);
    this.#log.debug({ why, ms: this.#retryMs }, "listening for changes stopped; trying again");
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.start(), this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }
}
