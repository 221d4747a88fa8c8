/** The one request to token endpoints, whatever the grant, and what its failure means for an account. */
import { networkFailure } from "../../adapters/network.ts";
import { authenticate } from "./client-authentication.ts";
import { bounded } from "./problem.ts";
import { readTokenAnswer } from "./token-response.ts";
import type { ClientAuthentication, Tokens } from "./types.ts";

/** Milliseconds for a request and its answer. */
const TIMEOUT_MS = 10_000;

/** What a grant that is gone is called: RFC 6749, GitHub, Slack. */
const GRANT_GONE = new Set([
  "invalid_grant",
  "bad_refresh_token",
  "bad_verification_code",
  "invalid_refresh_token",
  "invalid_code",
  "token_revoked",
  "token_expired",
  "account_inactive",
]);
/** What a client that is not known, or not by this secret, is called. */
const CLIENT_UNKNOWN = new Set([
  "invalid_client",
  "incorrect_client_credentials",
  "bad_client_secret",
  "invalid_client_id",
]);

/**
 * - `invalid_grant`: the code or refresh token is worth nothing any more.
 * - `invalid_client`: the authorization server does not know us.
 * - `refused`: it says no for another reason (a wrong scope, a wrong configuration).
 * - `unavailable`: it said nothing of use: network, status 5xx or 429, a redirect, an answer that cannot be read.
 */
export type TokenFailure = "invalid_grant" | "invalid_client" | "refused" | "unavailable";

/** `message` holds no secret and is for the log; `code` of the provider, where it sent one. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  readonly kind: TokenFailure;
  readonly code: string | undefined;
  constructor(kind: TokenFailure, message: string, options: { code?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = options.code;
  }
}

export interface TokenRequest {
  readonly endpoint: string;
  /** Without what the client's authentication adds. */
  readonly form: Readonly<Record<string, string | undefined>>;
  /** Absent: the endpoint asks for none (a pairing provider's). */
  readonly client?: ClientAuthentication | undefined;
  /** Issuer of the authorization server; the token endpoint where it has none. */
  readonly issuer?: string;
  /** Guarded; reaches what the connection may name. */
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly signal?: AbortSignal;
  /** Whether the rest of the answer is wanted too: some services say there where a person's data is. */
  readonly wholeAnswer?: boolean;
}

/** Asks for tokens. @throws TokenError */
export async function requestTokens(request: TokenRequest): Promise<Tokens> {
  const response = await post(request);
  const { status } = response;
  const body = await bodyOf(response);
  const answer = readTokenAnswer(body, response.headers.get("content-type"));
  if (answer.kind === "error") throw refusal(answer.error, answer.description, status);
  if (status >= 400) throw new TokenError("unavailable", `the token endpoint answered HTTP ${status}`);
  if (answer.kind === "unreadable") throw new TokenError("unavailable", answer.why);
  return request.wholeAnswer === true ? { ...answer.tokens, data: answer.data } : answer.tokens;
}

/** Ends a token where the authorization server lets us (RFC 7009). @throws TokenError */
export async function revokeToken(request: Omit<TokenRequest, "form">, token: string, hint: string): Promise<void> {
  const response = await post({ ...request, form: { token, token_type_hint: hint } });
  await response.body?.cancel();
  if (!response.ok) throw new TokenError("unavailable", `the revocation endpoint answered HTTP ${response.status}`);
}

async function post(request: TokenRequest): Promise<Response> {
  const { endpoint, client, fetch, clock, signal } = request;
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(request.form)) if (value !== undefined) form.set(name, value);
  const headers = new Headers({ accept: "application/json", "content-type": "application/x-www-form-urlencoded" });
  try {
    if (client) authenticate(client, { headers, form }, request.issuer ?? endpoint, clock());
  } catch (cause) {
    throw new TokenError("refused", cause instanceof Error ? cause.message : String(cause), { cause });
  }
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  try {
    response = await fetch(endpoint, {
      method: "POST",
      headers,
      body: form.toString(),
      // Secrets are in the body: they go to this endpoint and nowhere that it points to.
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  } catch (cause) {
    throw new TokenError("unavailable", networkFailure(cause)?.message ?? bounded(String(cause)), { cause });
  }
  if (response.status >= 300 && response.status < 400) {
    throw new TokenError("unavailable", `the endpoint answered with a redirect (HTTP ${response.status})`);
  }
  return response;
}

async function bodyOf(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (cause) {
    throw new TokenError("unavailable", "the answer broke off", { cause });
  }
}

function refusal(error: string, description: string, status: number): TokenError {
  const message = `the token endpoint refused: ${error}${description === "" ? "" : ` (${description})`}`;
  if (GRANT_GONE.has(error)) return new TokenError("invalid_grant", message, { code: error });
  if (CLIENT_UNKNOWN.has(error)) return new TokenError("invalid_client", message, { code: error });
  // An error body with these says "later", not "no": RFC 6749, 4.1.2.1 has names for two of them.
  const later =
    status >= 500 || status === 429 || /^(server_error|temporarily_unavailable|rate_?limited?)$/.test(error);
  return new TokenError(later ? "unavailable" : "refused", message, { code: error });
}
