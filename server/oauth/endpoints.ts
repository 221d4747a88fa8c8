/** The HTTP endpoints of the authorization server: limits and normalisers first, then the library. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Request, Response } from "express";
import type Provider from "oidc-provider";
import type { Pages } from "../admin/pages.ts";
import { JackfieldError } from "../errors.ts";
import { networkOf } from "../people/network.ts";
import { MAX_FORM_BYTES, readBody, withBody } from "./bodies.ts";
import type { Clients } from "./clients.ts";
import { allowAnyOrigin, answerPreflight } from "./cors.ts";
import { waitMessage } from "./error-page.ts";
import type { Limited, RequestLimits } from "./limits.ts";
import { PATHS } from "./provider.ts";
import type { Reaper } from "./reaping.ts";
import { isProblem, normaliseRegistration } from "./registration-normaliser.ts";
import { normaliseAuthorize, normaliseBasic, normaliseToken } from "./request-normaliser.ts";
import type { Resources } from "./resources.ts";
import type { OAuthSettings } from "./settings.ts";

export interface EndpointParts {
  /** Resolves once it is known whether documents of clients can be fetched. */
  readonly provider: () => Promise<Provider>;
  /** Our public origin. */
  readonly issuer: () => string;
  readonly pages: Pages;
  readonly resources: Resources;
  readonly clients: Clients;
  readonly limits: RequestLimits;
  readonly reaper: Reaper;
  readonly settings: OAuthSettings;
}

const FORM = "application/x-www-form-urlencoded";

/** GET `/oauth/authorize`. */
export async function serveAuthorize(parts: EndpointParts, request: Request, response: Response): Promise<void> {
  const wait = await parts.limits.take("authorize", networkOf(request.ip));
  if (wait > 0) {
    response.set("retry-after", String(Math.ceil(wait / 1000)));
    return parts.pages.renderMessage(response, waitMessage(wait));
  }
  const query = new URLSearchParams(request.originalUrl.split("?", 2)[1] ?? "");
  request.url = `${PATHS.authorization}?${normaliseAuthorize(query, parts.resources)}`;
  await hand(parts, request, response);
}

/** What the library serves as it is: the way back from the consent page, keys, discovery. */
export async function serveLibrary(parts: EndpointParts, request: Request, response: Response): Promise<void> {
  await hand(parts, request, response);
}

/** POST `/oauth/token`. */
export async function serveToken(parts: EndpointParts, request: Request, response: Response): Promise<void> {
  if (preflight(request, response)) return;
  await serveForm(parts, request, response, (form) => normaliseToken(form, parts.resources));
}

/** POST `/oauth/revoke` (RFC 7009). */
export async function serveRevocation(parts: EndpointParts, request: Request, response: Response): Promise<void> {
  if (preflight(request, response)) return;
  await serveForm(parts, request, response, (form) => form);
}

/** POST `/oauth/register` (RFC 7591). */
export async function serveRegistration(parts: EndpointParts, request: Request, response: Response): Promise<void> {
  if (preflight(request, response)) return;
  allowAnyOrigin(response);
  if (parts.settings.registration === "off") {
    return fail(response, 403, "access_denied", "this server registers no clients; ask its operator for a client id");
  }
  if (await limited(parts, response, "register", networkOf(request.ip))) return;
  if (parts.settings.registration === "token" && !carriesToken(request, parts.settings.registrationToken)) {
    response.set("www-authenticate", 'Bearer realm="jackfield", error="invalid_token"');
    return fail(response, 401, "invalid_token", "registering needs the initial access token of this server's operator");
  }
  if (await limited(parts, response, "registerAll", "all")) return;
  const text = await bodyOf(request, response);
  if (text === undefined) return;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return fail(response, 400, "invalid_client_metadata", "the request is not JSON");
  }
  const metadata = normaliseRegistration(body, parts.settings.redirects);
  if (isProblem(metadata)) return fail(response, 400, metadata.error, metadata.error_description);
  await parts.reaper.sweepIfDue();
  if (await parts.clients.isFull()) {
    return fail(response, 503, "temporarily_unavailable", "too many clients registered that nobody uses", 3_600_000);
  }
  const headers = { "content-type": "application/json", authorization: undefined };
  await hand(parts, withBody(request, JSON.stringify(metadata), headers), response);
}

/** RFC 7591 section 3: the initial access token is a bearer token. Both are hashed, so that comparing takes one time. */
function carriesToken(request: Request, wanted: string | undefined): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(request.get("authorization") ?? "")?.[1];
  if (wanted === undefined || given === undefined) return false;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

async function serveForm(
  parts: EndpointParts,
  request: Request,
  response: Response,
  normalise: (form: URLSearchParams) => URLSearchParams,
): Promise<void> {
  allowAnyOrigin(response);
  if (await limited(parts, response, "tokenAddress", networkOf(request.ip))) return;
  if (!(request.get("content-type") ?? "").toLowerCase().startsWith(FORM)) {
    return fail(response, 400, "invalid_request", `the request must be ${FORM}`);
  }
  const text = await bodyOf(request, response);
  if (text === undefined) return;
  const { form, authorization } = normaliseBasic(new URLSearchParams(text), request.get("authorization"));
  const client = form.get("client_id") ?? authorization;
  if (client !== undefined && (await limited(parts, response, "token", client))) return;
  const headers = { "content-type": FORM, authorization };
  await hand(parts, withBody(request, normalise(form).toString(), headers), response);
}

/**
 * Hands a request to the library. It makes URLs of the request's own host and scheme; here they are those of the
 * configuration. Its session cookie is kept from it: who is signed in is asked at each request anew.
 */
async function hand(parts: EndpointParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const provider = await parts.provider();
  const { protocol, host } = new URL(parts.issuer());
  const { headers } = request;
  headers.host = host;
  headers["x-forwarded-proto"] = protocol.slice(0, -1);
  delete headers["x-forwarded-host"];
  const session = provider.cookieName("session");
  const cookies = (headers.cookie ?? "").split(";").filter((pair) => {
    const name = pair.split("=", 1)[0]?.trim();
    return name !== session && name !== `${session}.sig`;
  });
  headers.cookie = cookies.join(";");
  await provider.callback()(request, response);
}

async function limited(parts: EndpointParts, response: Response, what: Limited, by: string): Promise<boolean> {
  const wait = await parts.limits.take(what, by);
  if (wait > 0) fail(response, 429, "temporarily_unavailable", "too many requests; try again later", wait);
  return wait > 0;
}

async function bodyOf(request: Request, response: Response): Promise<string | undefined> {
  try {
    return await readBody(request);
  } catch (error) {
    if (!(error instanceof JackfieldError)) throw error;
    response.set("connection", "close");
    fail(response, 413, "invalid_request", `the request is larger than ${MAX_FORM_BYTES} bytes`);
    return undefined;
  }
}

function preflight(request: Request, response: Response): boolean {
  if (request.method !== "OPTIONS") return false;
  answerPreflight(response, "POST", "Authorization, Content-Type, MCP-Protocol-Version");
  return true;
}

/** RFC 6749 section 5.2. */
function fail(response: Response, status: number, error: string, description: string, retryAfterMs?: number): void {
  if (retryAfterMs !== undefined) response.set("retry-after", String(Math.ceil(retryAfterMs / 1000)));
  response.set("cache-control", "no-store").status(status).json({ error, error_description: description });
}
