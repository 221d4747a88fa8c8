/**
 * A connection over stdio: one child for all callers, started when it is needed, restarted with a growing pause
 * when it keeps dying.
 *
 * The child learns once, at its start, what may be asked. Where it may ask anything, a call that can be asked back
 * runs alone: nothing on a pipe says which call a question belongs to.
 */
import type { AdapterContext, CallContext, Caller, Introduction, JsonObject } from "../contract.ts";
import { UpstreamError } from "../contract.ts";
import type { StdioConfig } from "./config.ts";
import { type Emit, HANDSHAKE_MS, type Lane, listChange, OWN_REQUEST_MS, within } from "./lane.ts";
import { Listening } from "./listening.ts";
import { remember, remembered } from "./negotiate.ts";
import { declared, type Notification, Peer } from "./peer.ts";
import { ChildTransport } from "./stdio-transport.ts";
import { Turns } from "./turns.ts";

/** Milliseconds of silence after which the server is taken for one that ignores what it does not know. */
const PROBE_MS = 10_000;
/** A child that lived this long was healthy; its end starts no pause. */
const HEALTHY_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 60_000;

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

const ASKABLE: Readonly<Record<StdioConfig["asks"], JsonObject>> = {
  none: {},
  elicitation: { elicitation: { form: {}, url: {} } },
  all: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
};

export class StdioLane implements Lane {
  readonly #context: AdapterContext;
  readonly #config: StdioConfig;
  readonly #emit: Emit;
  readonly #turns = new Turns();
  readonly #subscribers = new Map<string, Set<string>>();
  readonly #levels = new Map<string, string>();
  #capabilities: JsonObject;
  #child: Promise<Peer> | undefined;
  #transport: ChildTransport | undefined;
  #listening: Listening | undefined;
  #introduction: Introduction = {};
  #startedAt = 0;
  #pauseMs = 0;
  #notBefore = 0;
  #closed = false;

  private constructor(context: AdapterContext, config: StdioConfig, emit: Emit) {
    this.#context = context;
    this.#config = config;
    this.#emit = emit;
    this.#capabilities = ASKABLE[config.asks];
  }

  /** Starts the child. Throws what its start or handshake threw. */
  static async open(context: AdapterContext, config: StdioConfig, emit: Emit): Promise<StdioLane> {
    const lane = new StdioLane(context, config, emit);
    try {
      await lane.#peer();
    } catch (error) {
      await lane.close();
      throw error;
    }
    return lane;
  }

  introduction(): Introduction {
    return this.#introduction;
  }

  /** Process id of the running child. */
  get pid(): number | undefined {
    return this.#transport?.pid ?? undefined;
  }

  async own<T>(work: (peer: Peer) => Promise<T>): Promise<T> {
    const done = await this.#turns.take(false, this.#context.signal);
    try {
      return await work(await this.#peer());
    } finally {
      done();
    }
  }

  async call<T>(call: CallContext, work: (peer: Peer) => Promise<T>): Promise<T> {
    const done = await this.#turn(call);
    try {
      const wanted = call.ask ? merged(this.#capabilities, declared(call.caller.capabilities)) : this.#capabilities;
      let peer = await within(call, this.#peer());
      if (!peer.modern && JSON.stringify(wanted) !== JSON.stringify(this.#capabilities)) {
        // This call runs alone, so nobody else is on the child that goes.
        this.#capabilities = wanted;
        peer = await within(call, this.#restart());
      }
      await this.#level(peer, call.caller.logLevel ?? this.#levels.get(call.caller.key));
      return await work(peer);
    } catch (error) {
      throw this.#explained(error);
    } finally {
      done();
    }
  }

  /** Waits for a turn no longer than the call may last. */
  async #turn(call: CallContext): Promise<() => void> {
    const patience = AbortSignal.timeout(Math.min(call.maxTimeoutMs, 0x7fffffff));
    try {
      return await this.#turns.take(call.ask !== undefined, AbortSignal.any([call.signal, patience]));
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      throw new UpstreamError("upstream_timeout", "Another call that waits for its caller has not ended in time.", {
        processed: "no",
        cause: error,
      });
    }
  }

  async subscribe(uri: string, caller: Caller): Promise<void> {
    await this.#peer();
    if (this.#listening) return this.#listening.subscribe(uri, caller.key);
    const callers = this.#subscribers.get(uri) ?? new Set();
    if (callers.size === 0) await this.own((peer) => peer.ask("resources/subscribe", { uri }, OWN_REQUEST_MS));
    this.#subscribers.set(uri, callers.add(caller.key));
  }

  async unsubscribe(uri: string, caller: Caller): Promise<void> {
    if (this.#listening) return this.#listening.unsubscribe(uri, caller.key);
    const callers = this.#subscribers.get(uri);
    if (!callers?.delete(caller.key) || callers.size > 0) return;
    this.#subscribers.delete(uri);
    await this.own((peer) => peer.ask("resources/unsubscribe", { uri }, OWN_REQUEST_MS));
  }

  async setLogLevel(level: string, caller: Caller): Promise<void> {
    this.#levels.set(caller.key, level);
    await this.own((peer) => this.#level(peer, level));
  }

  async forget(callerKey: string): Promise<void> {
    this.#levels.delete(callerKey);
    if (this.#listening) return this.#listening.forget(callerKey);
    const caller: Caller = { key: callerKey, capabilities: {} };
    for (const uri of [...this.#subscribers.keys()]) await this.unsubscribe(uri, caller);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#listening?.close();
    const child = this.#child;
    this.#child = undefined;
    await this.#transport?.close();
    await child?.catch(() => undefined);
  }

  async #peer(): Promise<Peer> {
    const current = await this.#child?.catch(() => undefined);
    if (current && !current.closed) return current;
    if (this.#closed) throw new UpstreamError("upstream_died", "The connection is closed.", { processed: "no" });
    return this.#restart();
  }

  async #restart(): Promise<Peer> {
    const wait = this.#notBefore - this.#context.clock();
    if (wait > 0) {
      const said = this.#transport?.lastWords;
      throw new UpstreamError(
        "upstream_died",
        `The program of the connection keeps ending; it is started again in ${Math.ceil(wait / 1_000)} s${said ? `. It said: ${said}` : "."}`,
        { processed: "no" },
      );
    }
    const previous = this.#transport;
    this.#transport = undefined;
    const starting = (async () => {
      await previous?.close();
      return this.#start();
    })();
    this.#child = starting;
    return starting;
  }

  async #start(): Promise<Peer> {
    const known = await remembered(this.#context);
    this.#startedAt = this.#context.clock();
    let peer: Peer;
    try {
      peer = await this.#connect(known?.era === "legacy");
    } catch (error) {
      // Some servers end on anything before `initialize`, the probe included.
      const probeKilledIt = known?.era !== "legacy" && this.#transport?.ended !== undefined;
      if (!probeKilledIt) throw this.#failed(error);
      try {
        peer = await this.#connect(true);
      } catch (second) {
        throw this.#failed(second);
      }
    }
    if (known?.era !== "legacy")
      await remember(this.#context, { era: peer.modern ? "modern" : "legacy", wire: "stream" });
    peer.onClose(() => this.#died());
    if (peer.closed) this.#died();
    this.#introduction = peer.introduction();
    if (peer.modern && !this.#listening) this.#listening = new Listening(() => this.#peer(), this.#context.log);
    if (peer.modern) this.#listening?.start();
    else for (const uri of this.#subscribers.keys()) await peer.ask("resources/subscribe", { uri }, OWN_REQUEST_MS);
    return peer;
  }

  #connect(legacy: boolean): Promise<Peer> {
    const { log, clock } = this.#context;
    const transport = new ChildTransport(this.#config, log, clock);
    this.#transport = transport;
    return Peer.connect({
      context: this.#context,
      transport,
      capabilities: this.#capabilities,
      listener: (_peer, notification) => this.#heard(notification),
      timeoutMs: HANDSHAKE_MS,
      probeMs: PROBE_MS,
      ...(legacy ? { prior: { kind: "legacy" } } : {}),
    });
  }

  #failed(error: unknown): unknown {
    this.#died();
    return this.#explained(error);
  }

  /** Sets the pause before the next start: none after the first death, then 1 s, 2 s, up to a minute. */
  #died(): void {
    if (this.#closed) return;
    const now = this.#context.clock();
    if (now - this.#startedAt >= HEALTHY_MS) this.#pauseMs = 0;
    this.#notBefore = now + this.#pauseMs;
    this.#pauseMs = Math.min(Math.max(this.#pauseMs * 2, FIRST_PAUSE_MS), LAST_PAUSE_MS);
  }

  /** Adds how the child ended to a failure that only knows that it is gone. */
  #explained(error: unknown): unknown {
    const how = this.#transport?.ended;
    if (how === undefined || error instanceof UpstreamError) return error;
    const gone = error instanceof Error && (error.message === "Not connected" || /closed/i.test(error.message));
    if (!gone) return error;
    const said = this.#transport?.lastWords;
    return new UpstreamError(
      "upstream_died",
      `The program of the connection ended (${how})${said ? `. It said: ${said}` : "."}`,
      { processed: error.message === "Not connected" ? "no" : "unknown", cause: error },
    );
  }

  #heard(notification: Notification): void {
    const change = listChange(notification);
    if (change) {
      this.#emit(change);
      return;
    }
    const uri = notification.params?.["uri"];
    if (notification.method !== "notifications/resources/updated" || typeof uri !== "string") return;
    const callers = this.#listening?.callersOf(uri) ?? this.#subscribers.get(uri) ?? [];
    for (const callerKey of callers)
      this.#emit({ kind: "resource_updated", uri, callerKey, params: notification.params ?? {} });
  }

  /** The child has one level for all, so it is only ever made more talkative. */
  async #level(peer: Peer, level: string | undefined): Promise<void> {
    if (level === undefined || peer.modern || !peer.offers("logging")) return;
    if (peer.level !== undefined && LEVELS.indexOf(peer.level) <= LEVELS.indexOf(level)) return;
    await peer.ask("logging/setLevel", { level }, OWN_REQUEST_MS);
    peer.level = level;
  }
}

function merged(base: JsonObject, more: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [key, value] of Object.entries(more)) {
    const known = result[key];
    const both = isObject(known) && isObject(value);
    result[key] = both ? { ...known, ...value } : (known ?? value);
  }
  return result;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
