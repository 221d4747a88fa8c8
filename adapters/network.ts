/** What the network and the guarded fetch can do to a request, in the words of the contract. */
import { UpstreamError } from "./contract.ts";

/** Node and undici codes of a connection that never came about: nothing was sent. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "EPROTO",
]);
const CUT_OFF = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_CLOSED", "UND_ERR_DESTROYED"]);
const TOO_SLOW = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"]);

/** The failure behind whatever a guarded fetch threw; undefined for what did not come from the network. */
export function networkFailure(error: unknown): UpstreamError | undefined {
  for (const link of chain(error)) {
    if (link instanceof UpstreamError) return link;
    const known = fromCode(link);
    if (known) return known;
    if (member(link, "name") === "TimeoutError") return tooSlow(link);
  }
  return undefined;
}

/** The failure that an error's `code` names. */
export function fromCode(error: unknown): UpstreamError | undefined {
  const code = member(error, "code");
  if (code === "blocked_address" || code === "loop_detected") {
    const message = error instanceof Error ? error.message : "The address of the connection is not allowed.";
    const detail = member(error, "detail");
    return new UpstreamError(code, message, {
      processed: "no",
      cause: error,
      ...(typeof detail === "string" ? { detail } : {}),
    });
  }
  if (code === "result_too_large")
    return new UpstreamError("upstream_protocol", "The service's answer is larger than the proxy passes on.", {
      cause: error,
    });
  if (typeof code === "string") {
    if (NEVER_CONNECTED.has(code))
      return new UpstreamError("upstream_unreachable", `The service cannot be reached (${code}).`, {
        processed: "no",
        cause: error,
        ...(error instanceof Error ? { detail: error.message } : {}),
      });
    if (CUT_OFF.has(code)) return died(error);
    if (TOO_SLOW.has(code)) return tooSlow(error);
  }
  return undefined;
}

/** The connection ended after the request may have arrived. */
export function died(cause: unknown): UpstreamError {
  return new UpstreamError("upstream_died", "The connection to the service ended before its answer.", { cause });
}

function tooSlow(cause: unknown): UpstreamError {
  return new UpstreamError("upstream_timeout", "The service did not answer in time.", { cause });
}

/** An error and what caused it, at most eight deep; the parts of an AggregateError too. */
export function* chain(error: unknown): Generator<unknown> {
  let link = error;
  for (let depth = 0; link !== undefined && link !== null && depth < 8; depth++) {
    yield link;
    if (link instanceof AggregateError) for (const inner of link.errors) yield inner;
    link = member(link, "cause");
  }
}

/** A property of anything. */
export function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
