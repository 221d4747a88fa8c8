/** One conversation with the upstream: an SDK client on its transport, and who hears what it says unasked. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type PriorDiscovery,
  SseError,
  type StandardSchemaV1,
  type Transport,
} from "@modelcontextprotocol/client";
import type { AdapterContext, CallContext, Introduction, JsonObject, Log, Question } from "../contract.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { failureOf } from "./failures.ts";

export interface Notification {
  readonly method: string;
  readonly params?: JsonObject;
}

/** Where a peer's unasked messages go when they belong to no call. */
export type Listener = (peer: Peer, notification: Notification) => void;

export interface PeerOptions {
  readonly context: AdapterContext;
  readonly transport: Transport;
  /** Declared at `initialize`; a modern upstream is told each caller's own with every request. */
  readonly capabilities: JsonObject;
  readonly prior?: PriorDiscovery;
  readonly listener: Listener;
  /** Milliseconds for the whole handshake. */
  readonly timeoutMs: number;
  /** Milliseconds after which a silent stdio server is taken for a legacy one. */
  readonly probeMs?: number;
}

/** Takes any object as it came: results are handed over verbatim, and their schemas are the upstream's business. */
const anyResult: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "jackfield",
    validate: (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? { value: Object.fromEntries(Object.entries(value)) }
        : { issues: [{ message: "the result is not an object" }] },
  },
};

const OWN_META = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  "progressToken",
]);

const TASKS = "io.modelcontextprotocol/tasks";

export class Peer {
  readonly client: Client;
  readonly #listener: Listener;
  /** In flight. A question or a log of the upstream can be told to belong to a call only while it is alone. */
  readonly #calls = new Map<CallContext, Deadline>();
  #closed = false;
  #busy = 0;
  #retired: Log | undefined;
  #onClose: (() => void) | undefined;
  /** Log level set on a legacy session. */
  level: string | undefined;

  private constructor(client: Client, listener: Listener) {
    this.client = client;
    this.#listener = listener;
  }

  /** Connects; throws what the SDK or the transport threw. The transport is closed on failure. */
  static async connect(options: PeerOptions): Promise<Peer> {
    const { context, transport } = options;
    const client = new Client(context.identity, {
      capabilities: options.capabilities,
      versionNegotiation: { mode: "auto", probe: { timeoutMs: options.probeMs ?? options.timeoutMs } },
      inputRequired: { autoFulfill: false },
    });
    const peer = new Peer(client, options.listener);
    client.fallbackNotificationHandler = async (notification) => peer.#heard(notification);
    client.fallbackRequestHandler = async (request) => peer.#asked(request);
    client.onclose = () => peer.#ended();
    client.onerror = (error) => {
      context.log.debug({ error: error.message }, "upstream connection");
      // An event source reconnects by itself, to a server that has forgotten our handshake.
      if (error instanceof SseError) peer.close().catch((late) => context.log.debug({ late }, "closing failed"));
    };
    // The probe before the handshake heeds no signal, only the end of its transport.
    const stop = () => {
      transport.close().catch((error: unknown) => context.log.debug({ error }, "closing failed"));
    };
    context.signal.addEventListener("abort", stop, { once: true });
    try {
      context.signal.throwIfAborted();
      await client.connect(transport, {
        timeout: options.timeoutMs,
        signal: context.signal,
        ...(options.prior ? { prior: options.prior } : {}),
      });
    } catch (error) {
      await transport.close();
      throw error;
    } finally {
      context.signal.removeEventListener("abort", stop);
    }
    return peer;
  }

  get modern(): boolean {
    return this.client.getProtocolEra() === "modern";
  }

  get closed(): boolean {
    return this.#closed;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  introduction(): Introduction {
    const protocol = this.client.getNegotiatedProtocolVersion();
    const instructions = this.client.getInstructions();
    return {
      capabilities: { ...this.client.getServerCapabilities() },
      ...(protocol === undefined ? {} : { protocol }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(this.client.getServerVersion() ? { serverInfo: { ...this.client.getServerVersion() } } : {}),
    };
  }

  offers(capability: string): boolean {
    return Object.hasOwn(this.client.getServerCapabilities() ?? {}, capability);
  }

  /** A request of our own, outside any call. Throws what the SDK threw. */
  async ask(method: string, params: JsonObject, timeoutMs: number): Promise<JsonObject> {
    const request = { method, params };
    this.#busy += 1;
    try {
      return await this.client.request(request, anyResult, { timeout: timeoutMs });
    } finally {
      this.#leave();
    }
  }

  /**
   * A request on behalf of a call. Throws what the SDK threw, `UpstreamError` upstream_timeout past a deadline, or
   * the reason of `call.signal` where the caller cancelled.
   */
  async request(method: string, params: JsonObject, call: CallContext, headers?: Record<string, string>) {
    const deadline = startDeadline(call);
    this.#calls.set(call, deadline);
    this.#busy += 1;
    const meta = this.#metaFor(call);
    const request = { method, params: meta ? { ...params, _meta: meta } : params };
    const { progress } = call;
    try {
      return await this.client.request(request, anyResult, {
        signal: deadline.signal,
        // The deadline above decides; the SDK only checks its own maximum when progress arrives.
        timeout: Math.min(call.maxTimeoutMs + 60_000, 0x7fffffff),
        allowInputRequired: true,
        ...(headers && Object.keys(headers).length > 0 ? { headers } : {}),
        ...(progress
          ? {
              onprogress: (update) => {
                deadline.touch();
                const { total, message } = update;
                progress({
                  progress: update.progress,
                  ...(total === undefined ? {} : { total }),
                  ...(message === undefined ? {} : { message }),
                });
              },
            }
          : {}),
      });
    } catch (error) {
      throw deadline.reason() ?? error;
    } finally {
      this.#calls.delete(call);
      deadline.end();
      this.#leave();
    }
  }

  /** Closes as soon as no request is in flight: each may still get its own answer. */
  retire(log: Log): void {
    this.#retired = log;
    this.#onClose = undefined;
    if (this.#busy === 0) this.close().catch((error: unknown) => log.debug({ error }, "closing failed"));
  }

  #leave(): void {
    this.#busy -= 1;
    if (this.#retired) this.retire(this.#retired);
  }

  async close(): Promise<void> {
    await this.client.close();
    this.#ended();
  }

  #metaFor(call: CallContext): JsonObject | undefined {
    const meta: JsonObject = {};
    for (const [key, value] of Object.entries(call.meta ?? {})) if (!OWN_META.has(key)) meta[key] = value;
    if (this.modern) {
      meta[CLIENT_CAPABILITIES_META_KEY] = declared(call.caller.capabilities);
      if (call.caller.logLevel !== undefined && call.notify) meta[LOG_LEVEL_META_KEY] = call.caller.logLevel;
    }
    return Object.keys(meta).length > 0 ? meta : undefined;
  }

  #heard(notification: { method: string; params?: JsonObject | undefined }): void {
    const { method, params } = notification;
    const plain: Notification = params === undefined ? { method } : { method, params };
    const [only] = this.#calls.keys();
    const aboutLists = method.endsWith("/list_changed") || method === "notifications/resources/updated";
    if (only?.notify && this.#calls.size === 1 && !aboutLists) {
      this.#calls.get(only)?.touch();
      only.notify(plain);
    } else this.#listener(this, plain);
  }

  async #asked(request: { method: string; params?: JsonObject | undefined }): Promise<JsonObject> {
    const question = questionOf(request);
    if (!question) throw rpcError(-32601, "Method not found");
    const [only] = this.#calls.keys();
    const deadline = only ? this.#calls.get(only) : undefined;
    if (!only?.ask || !deadline || this.#calls.size !== 1) return unasked(question);
    // A person is thinking: that is no silence of the service.
    deadline.pause();
    try {
      return await only.ask(question);
    } catch (error) {
      throw rpcError(-1, error instanceof Error ? error.message : "The caller refused.");
    } finally {
      deadline.resume();
    }
  }

  #ended(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose?.();
  }
}

/** What may be declared upstream: the caller's own, without what cannot be relayed. */
export function declared(capabilities: JsonObject): JsonObject {
  const { tasks: _tasks, extensions, roots, ...rest } = capabilities;
  const kept =
    typeof extensions === "object" && extensions !== null
      ? Object.fromEntries(Object.entries(extensions).filter(([name]) => name !== TASKS))
      : {};
  return {
    ...rest,
    ...(roots === undefined ? {} : { roots: {} }),
    ...(Object.keys(kept).length > 0 ? { extensions: kept } : {}),
  };
}

/** Errors of the contract out of whatever a request threw; the reason of a cancelled call passes unchanged. */
export function thrown(error: unknown, call?: CallContext): unknown {
  return call?.signal.aborted && error === call.signal.reason ? error : failureOf(error);
}

function questionOf(request: { method: string; params?: JsonObject | undefined }): Question | undefined {
  const { method, params } = request;
  if (method !== "elicitation/create" && method !== "sampling/createMessage" && method !== "roots/list")
    return undefined;
  return params === undefined ? { method } : { method, params };
}

/** The answer where nobody can be asked, so that the tool can go on or say so. */
function unasked(question: Question): JsonObject {
  if (question.method === "elicitation/create") return { action: "cancel" };
  if (question.method === "roots/list") return { roots: [] };
  throw rpcError(-1, "The caller cannot be asked.");
}

function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
