/** The global `fetch`, `Request` and `Response`: what the Fetch standard says of them that matters without a browser. */
import { AbortController, abortable, type SignalLike } from "./abort.ts";
import { request as send } from "./bridge.ts";
import { Body } from "./fetch-body.ts";
import { Headers, type HeadersInit } from "./headers.ts";

interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: unknown;
  redirect?: string;
  signal?: SignalLike | null;
}

interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
const MOST_REDIRECTS = 20;
/** Not for another origin (Fetch standard, "HTTP-redirect fetch", step 13). */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);

export class Request extends Body {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly redirect: string;
  readonly signal: SignalLike;
  readonly cache = "default";
  readonly credentials = "omit";
  readonly duplex = "half";
  readonly mode = "cors";
  readonly referrer = "";

  constructor(input: unknown, init: RequestInit = {}) {
    super();
    const given = input instanceof Request ? input : undefined;
    const target = typeof input === "object" && input !== null && "href" in input ? input.href : input;
    this.url = given?.url ?? new URL(String(target)).href;
    this.method = String(init.method ?? given?.method ?? "GET").toUpperCase();
    this.headers = new Headers(init.headers ?? given?.headers);
    this.redirect = init.redirect ?? given?.redirect ?? "follow";
    this.signal = init.signal ?? given?.signal ?? new AbortController().signal;
    this.take(init.body === undefined ? given?.source : init.body);
  }

  clone(): Request {
    return new Request(this);
  }

  get [Symbol.toStringTag](): string {
    return "Request";
  }
}

export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly type = "default";
  url = "";
  redirected = false;

  constructor(body?: unknown, init: ResponseInit = {}) {
    super();
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? "";
    this.headers = new Headers(init.headers);
    this.take(body);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  clone(): Response {
    if (this.bodyUsed) throw new TypeError("Response.clone: Body has already been consumed.");
    const { status, statusText, headers } = this;
    return Object.assign(new Response(this.source, { status, statusText, headers }), {
      url: this.url,
      redirected: this.redirected,
    });
  }

  static json(data: unknown, init: ResponseInit = {}): Response {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(data), { ...init, headers });
  }

  static error(): Response {
    return new Response(null, { status: 0 });
  }

  static redirect(url: string, status = 302): Response {
    return new Response(null, { status, headers: { location: url } });
  }

  get [Symbol.toStringTag](): string {
    return "Response";
  }
}

interface Hop {
  url: string;
  method: string;
  headers: readonly (readonly [string, string])[];
  body: Uint8Array | undefined;
}

/** The request that a redirect asks for. Every hop goes through the worker and is checked there like a first one. */
function nextHop(from: Hop, status: number, location: string): Hop {
  const url = new URL(location, from.url);
  const toGet = (status === 303 && from.method !== "HEAD") || (status < 303 && from.method === "POST");
  const foreign = url.origin !== new URL(from.url).origin;
  const headers = from.headers.filter(([name]) => {
    const key = name.toLowerCase();
    return !(foreign && CREDENTIALS.has(key)) && !(toGet && key.startsWith("content-"));
  });
  return { url: url.href, method: toGet ? "GET" : from.method, headers, body: toGet ? undefined : from.body };
}

function failed(cause: unknown): TypeError {
  return new TypeError("fetch failed", { cause });
}

export async function fetch(input: unknown, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  if (request.signal.aborted) throwReason(request.signal);
  const body = request.source === null ? undefined : await abortable(request.bytes(), request.signal);
  let hop: Hop = { url: request.url, method: request.method, headers: [...request.headers], body };
  for (let redirects = 0; ; redirects++) {
    const sent = send(hop.method, hop.url, hop.headers, hop.body).catch((error: unknown) => {
      throw failed(error);
    });
    const answer = await abortable(sent, request.signal);
    const location = answer.headers.find(([name]) => name.toLowerCase() === "location")?.[1];
    if (location === undefined || !REDIRECTS.has(answer.status) || request.redirect === "manual") {
      const bodiless = BODILESS.has(answer.status) || hop.method === "HEAD";
      const { status, statusText, headers } = answer;
      const response = new Response(bodiless ? null : new Uint8Array(answer.body), { status, statusText, headers });
      return Object.assign(response, { url: hop.url, redirected: redirects > 0 });
    }
    if (request.redirect === "error") throw failed(new Error("unexpected redirect"));
    if (redirects >= MOST_REDIRECTS) throw failed(new Error("redirect count exceeded"));
    hop = nextHop(hop, answer.status, location);
  }
}

function throwReason(signal: SignalLike): never {
  throw signal.reason ?? new DOMException("This operation was aborted", "AbortError");
}
