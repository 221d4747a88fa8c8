/** One connection's HTTP: who we are, the credential, and what a bad status means. */
import { type JSONRPCMessage, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type AdapterContext, UpstreamError } from "../contract.ts";
import type { HttpConfig } from "./config.ts";
import { statusFailure, wordsOf } from "./failures.ts";
import { ordered, type Receiver } from "./ordered.ts";

/** Bytes of an error body that are read for the service's words. */
const ERROR_BODY = 16_384;

/**
 * The fetch of one connection. It adds the configured headers, the hop header and the credential, opened at this
 * moment and only for the connection's own origin. 401, 403, 429 and 5xx become `UpstreamError` here, so that no
 * layer above takes them for evidence about the protocol; other statuses are left to the transport, unless
 * `strict`: HTTP+SSE has no use for them.
 */
export function connectionFetch(
  context: AdapterContext,
  config: HttpConfig,
  options: { strict?: boolean } = {},
): typeof globalThis.fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(config.headers)) if (!headers.has(name)) headers.set(name, value);
    headers.set(context.hop.header, context.hop.value);
    headers.set("user-agent", `${context.identity.name}/${context.identity.version}`);
    const secrets: string[] = [];
    if (url.origin === config.url.origin) {
      const credential = await context.credential();
      if (credential?.kind === "bearer") headers.set("authorization", `Bearer ${credential.token}`);
      else if (credential?.kind === "header") headers.set(credential.name, credential.value);
      else if (credential) url.searchParams.set(credential.name, credential.value);
      if (credential) secrets.push(credential.kind === "bearer" ? credential.token : credential.value);
    }
    const response = await context.fetch(url, { ...init, headers });
    const { status } = response;
    const failed = status === 401 || status === 403 || status === 429 || status >= 500;
    if (!failed && (response.ok || !options.strict)) return response;
    throw statusFailure(status, scrub(wordsOf(await startOf(response)), secrets));
  };
}

async function startOf(response: Response): Promise<string> {
  try {
    return (await response.text()).slice(0, ERROR_BODY);
  } catch {
    // The status alone says enough; a body that breaks off adds nothing.
    return "";
  }
}

/** A service may echo what it was sent; the credential is not its to tell. */
function scrub(words: string, secrets: readonly string[]): string {
  let clean = words;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, "[secret]");
  return clean;
}

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
