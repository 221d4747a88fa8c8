/**
 * What went wrong upstream, in the words of the contract.
 *
 * Every error the SDK, the network or the guarded fetch can throw becomes an `UpstreamError` or, where the upstream
 * answered with a JSON-RPC error, an `UpstreamRpcError`.
 */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { UpstreamError, UpstreamRpcError } from "../contract.ts";
import { chain, died, fromCode, member } from "../network.ts";

/** The service's own words are cut here. */
const MAX_WORDS = 500;

/** The proxy had no credential to send, so nothing went upstream; thrown by `AdapterContext.credential`. */
export type NoCredential = Error & {
  readonly code: (typeof NO_CREDENTIAL)[number];
};

const NO_CREDENTIAL = [
  "authorization_required",
  "missing_variable",
  "credential_unreadable",
  "vault_unavailable",
] as const;

/** Turns whatever was thrown into the error of the contract; those of the contract pass unchanged. */
export function failureOf(error: unknown): UpstreamError | UpstreamRpcError | NoCredential {
  if (error instanceof UpstreamError || error instanceof UpstreamRpcError) return error;
  for (const link of chain(error)) {
    if (link instanceof UpstreamError || link instanceof UpstreamRpcError || isNoCredential(link)) return link;
    const known = fromSdk(link) ?? fromCode(link) ?? fromClient(link);
    if (known) return known;
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new UpstreamError("upstream_protocol", "The service answered with something that is not MCP.", {
    detail,
    cause: error,
  });
}

function isNoCredential(error: unknown): error is NoCredential {
  if (!(error instanceof Error)) return false;
  const code = member(error, "code");
  return NO_CREDENTIAL.some((known) => known === code);
}

/** Whether the upstream proved that it knows our session no more, so that the refused request may be sent again. */
export function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  if (error.status === 404) return true;
  // Servers built on the SDK's examples answer 400 where the spec asks for 404.
  return error.status === 400 && /session|not initialized/i.test(bodyOf(error));
}

/** HTTP status of an error that the SDK's transport made of a response. */
export function statusOf(error: unknown): number | undefined {
  for (const link of chain(error)) if (link instanceof SdkHttpError) return link.status;
  return undefined;
}

/** The message an error body carries, whatever its shape: JSON-RPC, OAuth, problem details, HTML, text. Bounded. */
export function wordsOf(body: string): string {
  const text = body.slice(0, 16_384);
  let words: unknown;
  try {
    const parsed: unknown = JSON.parse(text);
    words = member(member(parsed, "error"), "message") ?? member(parsed, "error_description");
    words ??=
      member(parsed, "message") ?? member(parsed, "detail") ?? member(parsed, "title") ?? member(parsed, "error");
  } catch {
    words = text.replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " ");
  }
  return bounded(typeof words === "string" ? words : "");
}

/** One line of at most 500 characters, without control characters. */
export function bounded(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS - 1)}…` : line;
}

function fromSdk(error: unknown): UpstreamError | UpstreamRpcError | undefined {
  if (error instanceof ProtocolError) {
    if (error.data instanceof UpstreamError) return error.data;
    return new UpstreamRpcError(error.code, error.message.replace(/^MCP error -?\d+: /, ""), error.data);
  }
  if (error instanceof SdkHttpError) return fromStatus(error);
  if (!(error instanceof SdkError)) return undefined;
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return new UpstreamError("upstream_timeout", "The service did not answer in time.", { cause: error });
    case SdkErrorCode.ConnectionClosed:
      return died(error);
    case SdkErrorCode.NotConnected:
    case SdkErrorCode.SendFailed:
      return new UpstreamError("upstream_died", "The connection to the service is gone.", {
        processed: "no",
        cause: error,
      });
    case SdkErrorCode.EraNegotiationFailed:
      if (error.cause !== undefined) return undefined;
      break;
  }
  return new UpstreamError("upstream_protocol", "The service answered with something that is not MCP.", {
    detail: error.message,
    cause: error,
  });
}

function fromStatus(error: SdkHttpError): UpstreamError | UpstreamRpcError {
  const body = bodyOf(error);
  const rpc = rpcErrorIn(body);
  if (rpc) return rpc;
  return statusFailure(error.status ?? 0, wordsOf(body), error);
}

/**
 * The failure an HTTP status means. A 4xx is a refusal, so nothing was done, except 408 and 409 which may follow
 * a started request; a 5xx proves nothing.
 */
export function statusFailure(status: number, words: string, cause?: unknown): UpstreamError {
  const said = words === "" ? "" : `: ${words}`;
  const options = cause === undefined ? {} : { cause };
  if (status === 401 || status === 403)
    return new UpstreamError(
      "authentication_required",
      `The service ${status === 401 ? "requires authentication" : "denies access with this credential"}${said}`,
      { processed: "no", ...options },
    );
  if (status === 508) return new UpstreamError("loop_detected", `The connection leads back here${said}`, options);
  const refused = status >= 400 && status < 500 && status !== 408 && status !== 409;
  return new UpstreamError("upstream_status", `The service answered HTTP ${status}${said}`, {
    processed: refused ? "no" : "unknown",
    ...options,
  });
}

function rpcErrorIn(body: string): UpstreamRpcError | undefined {
  try {
    const error = member(JSON.parse(body), "error");
    const code = member(error, "code");
    const message = member(error, "message");
    if (typeof code !== "number" || typeof message !== "string") return undefined;
    return new UpstreamRpcError(code, message, member(error, "data"));
  } catch {
    return undefined;
  }
}

/** The SDK's client says so of a transport that is closed; it gives no code. */
function fromClient(error: unknown): UpstreamError | undefined {
  return error instanceof Error && error.message === "Not connected"
    ? new UpstreamError("upstream_died", "The connection to the service is gone.", { processed: "no", cause: error })
    : undefined;
}

function bodyOf(error: SdkHttpError): string {
  const text = member(error.data, "text");
  return typeof text === "string" ? text : "";
}
