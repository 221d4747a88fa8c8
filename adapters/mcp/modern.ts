/**
 * A 2026-07-28 upstream over HTTP. It keeps no state between requests, so one conversation serves every caller; only
 * calls that want the upstream's log get one of their own while they run, since the client does not say on which
 * request's stream a log message came.
 */
import type { PriorDiscovery } from "@modelcontextprotocol/client";
import type { AdapterContext, CallContext, Caller, Introduction, JsonObject } from "../contract.ts";
import { type Emit, type Lane, listChange, within } from "./lane.ts";
import { Listening } from "./listening.ts";
import type { Listener, Notification, Peer } from "./peer.ts";

/** Conversations kept for the next call that wants logs. */
const MAX_SPARE = 8;

export class ModernLane implements Lane {
  readonly #connect: (listener: Listener, prior?: PriorDiscovery) => Promise<Peer>;
  readonly #emit: Emit;
  readonly #listening: Listening;
  readonly #spare: Peer[] = [];
  readonly #introduction: Introduction;
  #shared: Promise<Peer>;
  #closed = false;

  constructor(options: {
    context: AdapterContext;
    first: Peer;
    connect: (listener: Listener, prior?: PriorDiscovery) => Promise<Peer>;
    emit: Emit;
  }) {
    this.#connect = options.connect;
    this.#emit = options.emit;
    this.#shared = Promise.resolve(options.first);
    this.#introduction = options.first.introduction();
    this.#listening = new Listening(() => this.#peer(), options.context.log);
    this.#listening.start();
  }

  introduction(): Introduction {
    return this.#introduction;
  }

  async own<T>(work: (peer: Peer) => Promise<T>): Promise<T> {
    return work(await this.#peer());
  }

  async call<T>(call: CallContext, work: (peer: Peer) => Promise<T>): Promise<T> {
    const shared = await within(call, this.#peer());
    if (!call.notify || call.caller.logLevel === undefined) return work(shared);
    const discover = shared.client.getDiscoverResult();
    const prior: PriorDiscovery | undefined = discover ? { kind: "modern", discover } : undefined;
    const peer =
      this.#spare.pop() ??
      (await within(
        call,
        this.#connect(() => undefined, prior),
      ));
    try {
      return await work(peer);
    } finally {
      if (peer.closed || this.#closed || this.#spare.length >= MAX_SPARE) await peer.close();
      else this.#spare.push(peer);
    }
  }

  /** Hears what the shared conversation is told unasked. */
  heard(notification: Notification): void {
    const change = listChange(notification);
    if (change) this.#emit(change);
    else if (notification.method === "notifications/resources/updated") this.#updated(notification.params ?? {});
  }

  #updated(params: JsonObject): void {
    const { uri } = params;
    if (typeof uri !== "string") return;
    for (const callerKey of this.#listening.callersOf(uri))
      this.#emit({ kind: "resource_updated", uri, callerKey, params });
  }

  async subscribe(uri: string, caller: Caller): Promise<void> {
    await this.#listening.subscribe(uri, caller.key);
  }

  async unsubscribe(uri: string, caller: Caller): Promise<void> {
    await this.#listening.unsubscribe(uri, caller.key);
  }

  /** The level of a modern caller travels with each of its requests. */
  async setLogLevel(): Promise<void> {}

  async forget(callerKey: string): Promise<void> {
    await this.#listening.forget(callerKey);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#listening.close();
    const shared = await this.#shared.catch(() => undefined);
    await Promise.all([shared?.close(), ...this.#spare.splice(0).map((peer) => peer.close())]);
  }

  async #peer(): Promise<Peer> {
    const current = await this.#shared.catch(() => undefined);
    if (current && !current.closed) return current;
    this.#shared = this.#connect((_peer, notification) => this.heard(notification));
    return this.#shared;
  }
}
