/**
 * Sends one built request: who we are, the credential where it may go, one more try with a fresh credential, and
 * redirects looked at one by one.
 */
import { type AdapterContext, type Assets, type Credential, type Refusal, UpstreamError } from "../contract.ts";
import { applyCredential, isSameCredential } from "../credential-scope.ts";
import type { BuiltRequest } from "./build.ts";
import type { OperationPlan } from "./plan.ts";
import { chooseCredential, type Schemes } from "./security.ts";
import { type WireBody, wireBody } from "./wire.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Methods that are safe to send to whomever a redirect names (RFC 9110, 9.2.1). */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** Headers that may go along to another origin; everything else may be, or name, a credential. */
const HARMLESS = ["accept", "accept-language", "user-agent", "a2a-version"];

export interface Sending {
  readonly plan: Pick<OperationPlan, "security" | "accept">;
  readonly schemes: Schemes;
  readonly request: BuiltRequest;
  /** Where files of the body are read; absent: it has none, and the answer is read at once and bounded. */
  readonly assets?: Pick<Assets, "read">;
  readonly signal: AbortSignal;
}

interface Sent {
  readonly response: Response;
  /** Whether the request that was answered carried the credential. */
  readonly carried: boolean;
}

/**
 * @returns the answer, whatever its status; a redirect that may not be followed is returned as it is
 * @throws UpstreamError `authentication_required` where the operation needs a credential that is not there, or of the
 *   network; whatever `context.credential` and `assets.read` reject with
 */
export async function send(context: AdapterContext, sending: Sending): Promise<Response> {
  const { request, plan } = sending;
  const headers = new Headers(request.headers);
  const { payload, length, contentType } = await wireBody(
    request.body,
    request.headers["content-type"],
    sending.assets,
  );
  if (length !== undefined) headers.set("content-length", String(length));
  if (contentType === undefined) headers.delete("content-type");
  else headers.set("content-type", contentType);
  if (plan.accept !== undefined) headers.set("accept", plan.accept);
  headers.set(context.hop.header, context.hop.value);
  headers.set("user-agent", `${context.identity.name}/${context.identity.version}`);
  const init = { method: request.method, headers, payload };

  const held = await context.credential();
  const chosen = choose(sending, held);
  const first = await follow(context, sending, init, chosen);
  const refusal = refusalOf(first, held);
  if (refusal === undefined) return first.response;
  const other = await context.credential(refusal);
  if (other === undefined || isSameCredential(other, held)) return first.response;
  await first.response.body?.cancel();
  const second = await follow(context, sending, init, choose(sending, other));
  const again = refusalOf(second, other);
  // Told, so that a credential which is refused while it is new ends here and not in the next call.
  if (again) await context.credential(again);
  return second.response;
}

function choose({ plan, schemes }: Sending, held: Credential | undefined): Credential | undefined {
  const choice = chooseCredential(plan.security, schemes, held);
  if ("send" in choice) return choice.send;
  throw new UpstreamError(
    "authentication_required",
    `This operation needs a credential for ${choice.missing.join(" and ")}. An administrator sets it in the connection's auth.`,
    { processed: "no" },
  );
}

interface Init {
  readonly method: string;
  readonly headers: Headers;
  readonly payload: WireBody["payload"];
}

async function follow(
  context: AdapterContext,
  { request, assets, signal }: Sending,
  first: Init,
  credential: Credential | undefined,
): Promise<Sent> {
  const home = new URL(request.url);
  let url = home;
  let init = first;
  for (let redirects = 0; ; redirects++) {
    const target = new URL(url);
    const headers = new Headers(init.headers);
    const carried = applyCredential(credential, { url: target, headers }, home) !== undefined;
    const fetch = assets === undefined ? context.fetch : context.fetchStream;
    const response = await fetch(target, {
      method: init.method,
      headers,
      signal,
      redirect: "manual",
      ...bodyOf(init.payload),
    });
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null || !URL.canParse(location, url.href)) return { response, carried };
    const next = new URL(location, url);
    const after = redirected(init, response.status);
    // What a call would change is not sent to whomever an answer names.
    if (next.origin !== url.origin && !SAFE.has(after.method)) return { response, carried };
    await response.body?.cancel();
    if (redirects >= MAX_REDIRECTS) {
      throw new UpstreamError("upstream_protocol", `The service redirects more than ${MAX_REDIRECTS} times.`);
    }
    if (url.protocol === "https:" && next.protocol === "http:") {
      throw new UpstreamError("blocked_address", "The service redirects from https to plain http.");
    }
    init = next.origin === url.origin ? after : stripped(after, context.hop.header);
    url = next;
  }
}

/** Fetch standard: a body that is a stream needs `duplex`. */
function bodyOf(payload: WireBody["payload"]): RequestInit {
  if (payload === undefined) return {};
  return typeof payload === "function" ? { body: payload(), duplex: "half" } : { body: payload };
}

/** Without what may be, or name, a credential. It does not come back where a later redirect leads home again. */
function stripped(init: Init, hop: string): Init {
  const kept = [...HARMLESS, hop.toLowerCase()];
  return { ...init, headers: new Headers([...init.headers].filter(([name]) => kept.includes(name))) };
}

/** Fetch standard, "HTTP-redirect fetch": 303, and 301 or 302 on POST, go on as GET without the body. */
function redirected(init: Init, status: number): Init {
  const toGet = (status === 303 && init.method !== "HEAD") || (status < 303 && init.method === "POST");
  if (!toGet) return init;
  const headers = new Headers(init.headers);
  headers.delete("content-type");
  headers.delete("content-length");
  return { method: "GET", headers, payload: undefined };
}

/** What the upstream said to the credential; undefined where it did not refuse it, or never saw it. */
function refusalOf({ response, carried }: Sent, credential: Credential | undefined): Refusal | undefined {
  if (credential !== undefined && !carried) return undefined;
  const challenge = response.headers.get("www-authenticate") ?? undefined;
  // RFC 6750, 3.1: other reasons for a 403 are none that another token would change.
  const scope = response.status === 403 && challenge !== undefined && /\binsufficient_scope\b/.test(challenge);
  if (response.status !== 401 && !scope) return undefined;
  return { credential, status: response.status, ...(challenge === undefined ? {} : { challenge }) };
}
