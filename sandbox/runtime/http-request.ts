/** `http.ClientRequest`: collects headers and body, sends them when it is ended. */

import type { SignalLike } from "./abort.ts";
import { request } from "./bridge.ts";
import { Buffer, bytesFrom } from "./buffer.ts";
import { createSocket, IncomingMessage } from "./http-response.ts";
import { Writable } from "./stream.ts";
import { clearTimeout, setTimeout, type Timeout } from "./timers.ts";

export interface RequestOptions {
  protocol?: string | null;
  host?: string | null;
  hostname?: string | null;
  port?: string | number | null;
  path?: string | null;
  method?: string;
  headers?: Readonly<Record<string, unknown>> | readonly unknown[];
  auth?: string | null;
  timeout?: number;
  signal?: SignalLike;
  agent?: unknown;
}

/** The URL that options of Node mean; `scheme` is that of the module. */
function urlOf(options: RequestOptions, scheme: string): { url: string; host: string; path: string } {
  const protocol = options.protocol ?? scheme;
  const host = options.hostname ?? String(options.host ?? "localhost").replace(/:\d+$/, "");
  const bracketed = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const usual = protocol === "https:" ? 443 : 80;
  const port = options.port && Number(options.port) !== usual ? `:${Number(options.port)}` : "";
  const path = options.path || "/";
  return { url: `${protocol}//${bracketed}${port}${path}`, host, path };
}

export class ClientRequest extends Writable {
  readonly method: string;
  readonly protocol: string;
  readonly host: string;
  readonly path: string;
  readonly agent: unknown;
  readonly reusedSocket = false;
  readonly maxHeadersCount = null;
  readonly socket = createSocket();
  readonly connection = this.socket;
  aborted = false;
  headersSent = false;
  res: IncomingMessage | undefined;
  readonly #url: string;
  readonly #headers = new Map<string, { name: string; value: unknown }>();
  readonly #chunks: Uint8Array[] = [];
  #timeoutMs = 0;

  constructor(options: RequestOptions, scheme: string, onResponse?: (response: IncomingMessage) => void) {
    // Without this the request object would be destroyed once it is sent, before its answer is there.
    super({ autoDestroy: false });
    const { url, host, path } = urlOf(options, scheme);
    this.#url = url;
    this.host = host;
    this.path = path;
    this.protocol = options.protocol ?? scheme;
    this.method = String(options.method ?? "GET").toUpperCase();
    this.agent = options.agent;
    this.#takeHeaders(options.headers ?? {});
    if (options.auth && !this.hasHeader("authorization")) {
      this.setHeader("Authorization", `Basic ${Buffer.from(options.auth).toString("base64")}`);
    }
    if (onResponse) this.once("response", onResponse);
    if (options.timeout) this.setTimeout(options.timeout);
    this.#obey(options.signal);
    queueMicrotask(() => {
      this.emit("socket", this.socket);
      this.socket.emit("connect");
      this.socket.emit("secureConnect");
    });
  }

  #takeHeaders(headers: Readonly<Record<string, unknown>> | readonly unknown[]): void {
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers)) {
        if (value !== undefined && value !== null) this.setHeader(name, value);
      }
      return;
    }
    for (let index = 0; index < headers.length; index += 2) this.setHeader(String(headers[index]), headers[index + 1]);
  }

  #obey(signal: SignalLike | undefined): void {
    if (signal === undefined) return;
    const stop = (): void => {
      this.destroy(Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" }));
    };
    if (signal.aborted) queueMicrotask(stop);
    else signal.addEventListener("abort", stop);
  }

  setHeader(name: string, value: unknown): this {
    this.#headers.set(String(name).toLowerCase(), { name: String(name), value });
    return this;
  }

  appendHeader(name: string, value: unknown): this {
    const before = this.getHeader(name);
    return this.setHeader(name, before === undefined ? value : [before, value].flat());
  }

  getHeader(name: string): unknown {
    return this.#headers.get(String(name).toLowerCase())?.value;
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(String(name).toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(String(name).toLowerCase());
  }

  getHeaders(): Record<string, unknown> {
    return Object.fromEntries([...this.#headers].map(([key, { value }]) => [key, value]));
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  getRawHeaderNames(): string[] {
    return [...this.#headers.values()].map(({ name }) => name);
  }

  flushHeaders(): void {}

  setNoDelay(): void {}

  setSocketKeepAlive(): void {}

  setTimeout(milliseconds: number, callback?: () => void): this {
    if (callback) this.once("timeout", callback);
    this.#timeoutMs = milliseconds;
    return this;
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.emit("abort");
    this.destroy(Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }));
  }

  override _write(chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#chunks.push(bytesFrom(chunk, encoding));
    done();
  }

  override _final(done: (error?: Error | null) => void): void {
    done();
    this.headersSent = true;
    const timeout = this.#startTimeout();
    request(this.method, this.#url, this.#wireHeaders(), Buffer.concat(this.#chunks)).then(
      (answer) => {
        clearTimeout(timeout);
        if (this.destroyed) return;
        const response = new IncomingMessage(answer, this);
        this.res = response;
        // Node: an answer that nobody listens to is drained.
        if (!this.emit("response", response)) response.resume();
      },
      (error: Error) => {
        clearTimeout(timeout);
        if (!this.destroyed) this.destroy(error);
      },
    );
  }

  #startTimeout(): Timeout | undefined {
    if (!(this.#timeoutMs > 0 && this.#timeoutMs < 2 ** 31)) return undefined;
    return setTimeout(() => this.emit("timeout"), this.#timeoutMs);
  }

  #wireHeaders(): [string, string][] {
    return [...this.#headers.values()].flatMap(({ name, value }) =>
      (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, String(item)]),
    );
  }
}
