/** One connection's requests: who we are, the credential, and what a bad status means. */
import { type AdapterContext, type Credential, type Refusal, UpstreamError } from "../contract.ts";
import { applyCredential, isSameCredential } from "../credential-scope.ts";
import type { HttpConfig } from "./config.ts";
import { statusFailure, wordsOf } from "./failures.ts";

/** Bytes of an error body that are read for the service's words. */
const ERROR_BODY = 16_384;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that may go along to another origin; everything else may be, or name, a credential. */
const HARMLESS = ["accept", "accept-language", "content-type", "user-agent"];

interface Sent {
  readonly response: Response;
  /** What went along with the last request; undefined where none did. */
  readonly secret: string | undefined;
}

/**
 * The fetch of one connection. It adds the configured headers, the hop header and the credential, opened at this
 * moment and only where it may go. Refused with 401, or 403 `insufficient_scope`, it asks once for another credential
 * and sends the request once more: the upstream has not processed it. 401, 403, 429 and 5xx become `UpstreamError`
 * here, so that no layer above takes them for evidence about the protocol; other statuses are left to the transport,
 * unless `strict`: HTTP+SSE has no use for them.
 */
export function connectionFetch(
  context: AdapterContext,
  config: HttpConfig,
  options: { strict?: boolean } = {},
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(config.headers)) if (!headers.has(name)) headers.set(name, value);
    headers.set(context.hop.header, context.hop.value);
    headers.set("user-agent", `${context.identity.name}/${context.identity.version}`);
    const request = { ...init, headers };

    const home = url.origin === config.url.origin;
    const credential = home ? await context.credential() : undefined;
    let sent = await send(context, config, url, request, credential);
    const secrets = [sent.secret];
    const refusal = home ? refusalOf(sent, credential) : undefined;
    if (refusal && isReplayable(init.body)) {
      const other = await context.credential(refusal);
      if (other && !isSameCredential(other, credential)) {
        await sent.response.body?.cancel();
        sent = await send(context, config, url, request, other);
        secrets.push(sent.secret);
        const again = refusalOf(sent, other);
        // Told, so that a credential which is refused while it is new ends here and not in the next call.
        if (again) await context.credential(again);
      }
    }
    const { response } = sent;
    const { status } = response;
    const failed = status === 401 || status === 403 || status === 429 || status >= 500;
    if (!failed && (response.ok || !options.strict)) return response;
    throw statusFailure(status, scrub(wordsOf(await startOf(response)), secrets));
  };
}

/**
 * Sends one request. Where it carries the credential, redirects are followed here, because each hop has to be looked
 * at again; once a hop may not carry it, the guarded fetch goes on alone.
 */
async function send(
  context: AdapterContext,
  config: HttpConfig,
  first: URL,
  init: RequestInit & { headers: Headers },
  credential: Credential | undefined,
): Promise<Sent> {
  let url = first;
  let request = init;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const target = new URL(url);
    const headers = new Headers(request.headers);
    const secret = applyCredential(credential, { url: target, headers }, config.url);
    if (secret === undefined) return { response: await context.fetch(target, { ...request, headers }), secret };
    const response = await context.fetch(target, { ...request, headers, redirect: "manual" });
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return { response, secret };
    await response.body?.cancel();
    const next = new URL(location, url);
    if (url.protocol === "https:" && next.protocol === "http:") {
      throw new UpstreamError("blocked_address", "The service redirects from https to plain http.", {
        processed: "no",
      });
    }
    request = redirected(request, response.status);
    if (next.origin !== url.origin) {
      const kept = [...HARMLESS, context.hop.header.toLowerCase()];
      const harmless = new Headers([...request.headers].filter(([name]) => kept.includes(name)));
      request = { ...request, headers: harmless };
    }
    url = next;
  }
  throw new UpstreamError("upstream_protocol", `The service redirects more than ${MAX_REDIRECTS} times.`, {
    processed: "no",
  });
}

/** Fetch standard, "HTTP-redirect fetch": 303, and 301 or 302 on POST, go on as GET without the body. */
function redirected(request: RequestInit & { headers: Headers }, status: number): RequestInit & { headers: Headers } {
  const method = (request.method ?? "GET").toUpperCase();
  const toGet = (status === 303 && method !== "HEAD") || (status < 303 && method === "POST");
  if (!toGet) return request;
  const headers = new Headers(request.headers);
  headers.delete("content-type");
  return { ...request, method: "GET", body: null, headers };
}

/** What the upstream said to the credential; undefined where it did not refuse it, or never saw it. */
function refusalOf({ response, secret }: Sent, credential: Credential | undefined): Refusal | undefined {
  if (credential && secret === undefined) return undefined;
  const challenge = response.headers.get("www-authenticate") ?? undefined;
  // RFC 6750, 3.1: other reasons for a 403 are none that another token would change.
  const scope = response.status === 403 && challenge !== undefined && /\binsufficient_scope\b/.test(challenge);
  if (response.status !== 401 && !scope) return undefined;
  return { credential, status: response.status, ...(challenge === undefined ? {} : { challenge }) };
}

/** Only what can be sent again exactly as it was. */
function isReplayable(body: RequestInit["body"]): boolean {
  return body === undefined || body === null || typeof body === "string";
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
function scrub(words: string, secrets: readonly (string | undefined)[]): string {
  let clean = words;
  for (const secret of secrets) if (secret && secret.length >= 4) clean = clean.replaceAll(secret, "[secret]");
  return clean;
}
