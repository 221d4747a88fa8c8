/**
 * The one way out to the network: a `fetch` that only reaches what the policy allows.
 *
 * It is built on `undici.request`, not on undici's fetch: under the MCP client the latter's web streams and abort
 * machinery cost two thirds of a proxied call.
 */
import { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import type { AddressRange } from "../config.ts";
import { JackfieldError } from "../errors.ts";
import { parseAddress, type Range, rangeOf } from "./addresses.ts";
import { createAgent, type Resolver, systemResolver } from "./agent.ts";
import { boundedChunks, decoded, EventBound, readAll } from "./body.ts";
import { blocked, type Closed, checkUrl, type Policy } from "./policy.ts";

export interface EgressOptions {
  /** The private ranges that the operator opened. */
  readonly allow: readonly AddressRange[];
  /** Listeners that stay closed to every connection; asked at each connect, so it may grow after `listen`. */
  readonly closed: () => readonly Closed[];
  readonly resolver?: Resolver;
  /** A certificate (PEM) that is trusted beside those that Node trusts. */
  readonly trust?: string;
  /** Lower-case names of headers that are no credentials and go along to another origin (the hop header). */
  readonly keepAcrossOrigins?: readonly string[];
}

export interface Egress {
  /** For the upstreams of connections: https, or http to the private ranges that the operator opened. */
  readonly upstreamFetch: typeof globalThis.fetch;
  /**
   * The same for files: answers of any type are streams that are read as they come, and may be large. A body may be a
   * stream whose `content-length` is given; it is sent once, so no redirect is followed with it.
   */
  readonly upstreamStream: typeof globalThis.fetch;
  /** For what strangers name: https to public addresses only, small and quick. */
  readonly strangerFetch: typeof globalThis.fetch;
  /**
   * For what the upstream of a connection names (metadata documents, token endpoints): as for strangers, except that
   * an upstream which itself stands in a range that the operator opened may name addresses in such ranges.
   * @param url of the connection
   * @param what a file may be larger than a document, and take longer
   */
  namedBy(url: URL, what?: "document" | "file"): Promise<typeof globalThis.fetch>;
  /** Guarded dispatcher for libraries that take one instead of a fetch. */
  readonly dispatcher: Dispatcher;
  close(): Promise<void>;
}

interface Limits {
  /** Bytes of a whole body, or of one event of an event stream. */
  readonly maxBytes: number;
  readonly maxRedirects: number;
  /** Milliseconds for the whole exchange; absent: the caller's signal decides. */
  readonly totalMs?: number;
  /** Milliseconds until the response headers are there. */
  readonly headersMs: number;
  /** Bodies pass as streams. */
  readonly streams?: true;
}

const UPSTREAM: Limits = { maxBytes: 32 * 1024 * 1024, maxRedirects: 5, headersMs: 15 * 60_000 };
const FILE: Limits = { maxBytes: 32 * 1024 * 1024, maxRedirects: 3, totalMs: 60_000, headersMs: 15_000 };
const STREAMS: Limits = { ...UPSTREAM, maxBytes: 2 ** 31, streams: true };
const STRANGER: Limits = { maxBytes: 1024 * 1024, maxRedirects: 3, totalMs: 10_000, headersMs: 10_000 };
const SMALL = 256 * 1024;

/** Headers that may follow a redirect to another origin. Everything else may be, or name, a credential. */
const HARMLESS = new Set(["accept", "accept-language", "content-type", "user-agent"]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Statuses whose Response must not have a body (Fetch standard, "null body status"). */
const BODILESS = new Set([101, 204, 205, 304]);

/** Opens the way out. Close it on shutdown. */
export function createEgress(options: EgressOptions): Egress {
  const resolver = options.resolver ?? systemResolver;
  const { trust } = options;
  const upstream: Policy = { ranges: options.allow.map(rangeOf), closed: options.closed };
  const stranger: Policy = { ranges: [], closed: options.closed };
  const dispatcher = createAgent({ policy: upstream, resolver, trust });
  const strangers = createAgent({ policy: stranger, resolver, trust });
  const harmless = new Set([...HARMLESS, ...(options.keepAcrossOrigins ?? [])]);
  const strangerFetch = guardedFetch(strangers, stranger, STRANGER, harmless);
  const outside = { document: strangerFetch, file: guardedFetch(strangers, stranger, FILE, harmless) };
  const inside = {
    document: guardedFetch(dispatcher, upstream, STRANGER, harmless),
    file: guardedFetch(dispatcher, upstream, FILE, harmless),
  };
  return {
    upstreamFetch: guardedFetch(dispatcher, upstream, UPSTREAM, harmless),
    upstreamStream: guardedFetch(dispatcher, upstream, STREAMS, harmless),
    strangerFetch,
    async namedBy(url, what = "document") {
      if (upstream.ranges.length === 0) return outside[what];
      return ((await standsIn(upstream.ranges, url, resolver)) ? inside : outside)[what];
    },
    dispatcher,
    async close() {
      await Promise.all([dispatcher.destroy(), strangers.destroy()]);
    },
  };
}

/** Whether all addresses of a URL's host lie in these ranges; a name that does not resolve lies in none. */
async function standsIn(ranges: readonly Range[], url: URL, resolver: Resolver): Promise<boolean> {
  const literal = parseAddress(url.hostname);
  const found = literal
    ? [literal]
    : (await resolver(url.hostname).catch(() => [])).map((at) => parseAddress(at.address));
  return found.length > 0 && found.every((address) => address && ranges.some((range) => range.contains(address)));
}

interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | Readable | undefined;
}

function guardedFetch(
  dispatcher: Dispatcher,
  policy: Policy,
  limits: Limits,
  harmless: ReadonlySet<string>,
): typeof globalThis.fetch {
  return async (input, init) => {
    let hop = await firstHop(input, init, limits);
    const signal = signalOf(input, init, limits.totalMs);
    const follow = init?.redirect ?? "follow";
    for (let redirects = 0; ; redirects++) {
      checkUrl(hop.url, policy);
      const response = await request(hop.url, {
        dispatcher,
        method: hop.method as Dispatcher.HttpMethod,
        headers: hop.headers,
        body: hop.body ?? null,
        signal: signal ?? null,
        headersTimeout: limits.headersMs,
        bodyTimeout: 0,
      });
      const location = REDIRECTS.has(response.statusCode) ? one(response.headers["location"]) : undefined;
      if (location === undefined || follow === "manual") return toResponse(response, hop, limits, redirects > 0);
      await response.body.dump();
      if (follow === "error") throw new TypeError("unexpected redirect");
      if (redirects >= limits.maxRedirects) throw new TypeError(`more than ${limits.maxRedirects} redirects`);
      if (hop.body instanceof Readable) throw new TypeError("a redirect of a body that is sent once");
      hop = nextHop(hop, response.statusCode, location, harmless);
    }
  };
}

function nextHop(from: Hop, status: number, location: string, harmless: ReadonlySet<string>): Hop {
  const url = new URL(location, from.url);
  if (from.url.protocol === "https:" && url.protocol === "http:") throw blocked("a redirect from https to plain http");
  // Fetch standard, "HTTP-redirect fetch": 303, and 301 or 302 on POST, go on as GET without the body.
  const toGet = (status === 303 && from.method !== "HEAD") || (status < 303 && from.method === "POST");
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(from.headers)) {
    if (url.origin !== from.url.origin && !harmless.has(name)) continue;
    if (toGet && name === "content-type") continue;
    headers[name] = value;
  }
  return { url, method: toGet ? "GET" : from.method, headers, body: toGet ? undefined : from.body };
}

async function firstHop(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  limits: Limits,
): Promise<Hop> {
  const given = input instanceof Request ? input : undefined;
  const headers: Record<string, string> = {};
  const source = init?.headers ?? given?.headers;
  if (source) for (const [name, value] of new Headers(source)) headers[name] = value;
  let body: Hop["body"];
  const raw = init?.body ?? given?.body;
  if (typeof raw === "string" || raw instanceof Uint8Array) body = raw;
  else if (limits.streams && raw instanceof ReadableStream) body = Readable.from(raw, { objectMode: false });
  else if (raw) {
    // Forms, blobs and streams: let the platform serialise them and name their type.
    const whole = new Response(raw);
    const type = whole.headers.get("content-type");
    if (type !== null) headers["content-type"] ??= type;
    body = new Uint8Array(await whole.arrayBuffer());
  }
  if (typeof raw === "string") headers["content-type"] ??= "text/plain;charset=UTF-8";
  const method = (init?.method ?? given?.method ?? "GET").toUpperCase();
  return { url: new URL(given ? given.url : String(input)), method, headers, body };
}

function signalOf(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  totalMs: number | undefined,
): AbortSignal | undefined {
  const given = init?.signal ?? (input instanceof Request ? input.signal : undefined) ?? undefined;
  if (totalMs === undefined) return given;
  const deadline = AbortSignal.timeout(totalMs);
  return given ? AbortSignal.any([given, deadline]) : deadline;
}

async function toResponse(
  response: Dispatcher.ResponseData,
  hop: Hop,
  limits: Limits,
  redirected: boolean,
): Promise<Response> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) headers.append(name, item);
  }
  const init = { status: response.statusCode, headers };
  const body = decoded(response.body, one(response.headers["content-encoding"]));
  if (BODILESS.has(response.statusCode) || hop.method === "HEAD") {
    await response.body.dump();
    return locate(new Response(null, init), hop.url, redirected);
  }
  if (headers.get("content-type")?.toLowerCase().startsWith("text/event-stream")) {
    const bound = new EventBound(limits.maxBytes);
    body.on("error", (error) => bound.destroy(error));
    bound.on("close", () => body.destroy());
    body.pipe(bound);
    return locate(new Response(Readable.toWeb(bound) as ReadableStream<Uint8Array>, init), hop.url, redirected);
  }
  if (limits.streams && !isSmall(headers)) {
    // Not Readable.toWeb: one that is cancelled in mid-body closes its stream twice and ends the process.
    return locate(new Response(ReadableStream.from(boundedChunks(body, limits.maxBytes)), init), hop.url, redirected);
  }
  return locate(new Response(await readAll(body, limits.maxBytes), init), hop.url, redirected);
}

/** Bodies that say they are small, and need no decoding, come faster whole than as a stream. */
function isSmall(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= SMALL && headers.get("content-encoding") === null;
}

/** `url` and `redirected` are read-only on a Response one makes; callers resolve relative links against them. */
function locate(response: Response, url: URL, redirected: boolean): Response {
  return Object.defineProperties(response, { url: { value: url.href }, redirected: { value: redirected } });
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** Whether an error says that the policy refused, with the code a caller is told. */
export function refusalOf(error: unknown): "blocked_address" | "loop_detected" | undefined {
  if (!(error instanceof JackfieldError)) return undefined;
  return error.code === "blocked_address" || error.code === "loop_detected" ? error.code : undefined;
}
