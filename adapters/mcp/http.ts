/** The transports of one connection over HTTP. */
import { type JSONRPCMessage, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { UpstreamError } from "../contract.ts";
import { ordered, type Receiver } from "./ordered.ts";

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/**
 * Streamable HTTP that notices when the stream of a request ends without its answer. The SDK's client would wait
 * until its timeout: it passes no `onRequestStreamEnd` for ordinary requests.
 */
export class StreamTransport extends StreamableHTTPClientTransport {
  /** Requests without an answer yet, with what closes their stream. */
  readonly #open = new Map<string | number, AbortController | undefined>();
  #receiver: Receiver | undefined;

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !("method" in message)) return super.send(message, options);
    if (!("id" in message)) {
      await super.send(message, options);
      if (message.method === "notifications/cancelled") this.#release(message.params?.["requestId"]);
      return undefined;
    }
    if (options?.onRequestStreamEnd) return super.send(message, options);
    const { id } = message;
    this.#watchAnswers();
    // A legacy server ends no stream of a cancelled request, so ours is closed once it has been told.
    // A modern one is told by the end of the stream itself, which the client sees to.
    const abort = options?.requestSignal ? undefined : new AbortController();
    options?.requestSignal?.addEventListener("abort", () => this.#open.delete(id), { once: true });
    this.#open.set(id, abort);
    const signals = abort ? { requestSignal: abort.signal } : {};
    try {
      await super.send(message, { ...options, ...signals, onRequestStreamEnd: () => this.#ended(id) });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  /** Whoever owns the transport sets `onmessage`, first the negotiation, then the client; each is wrapped once. */
  #watchAnswers(): void {
    const inner: Receiver | undefined = this.onmessage;
    if (!inner || inner === this.#receiver) return;
    const later = ordered(inner, (error) => this.onerror?.(error));
    const receiver: Receiver = (message) => {
      if ("id" in message && !("method" in message) && message.id !== undefined) this.#open.delete(message.id);
      later(message);
    };
    this.#receiver = receiver;
    this.onmessage = receiver;
  }

  #release(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    this.#open.get(id)?.abort();
    this.#open.delete(id);
  }

  #ended(id: string | number): void {
    if (!this.#open.delete(id)) return;
    const data = new UpstreamError("upstream_died", "The connection to the service ended before its answer.");
    // Data that is an instance of our own error class cannot come from the wire: `failureOf` takes it as it is.
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: -32603, message: data.message, data } });
  }
}

/** HTTP+SSE (MCP 2024-11-05, deprecated), for upstreams that know nothing newer. */
export class EventTransport extends SSEClientTransport {
  override async start(): Promise<void> {
    const inner: Receiver | undefined = this.onmessage;
    if (inner) this.onmessage = ordered(inner, (error) => this.onerror?.(error));
    await super.start();
  }
}
