/** What a provider answers to a claim. Pure. */
import type { PairedTokens } from "../contract.ts";
import { scopeWords } from "./packet.ts";

/** RFC 6750, section 2.1, is stricter; providers are not, but nothing that could break a header may pass. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
const MAX_SCOPE = 2_000;
const MAX_WORDS = 300;
/** Ten years: whoever says more means "never". */
const MAX_EXPIRES_IN = 10 * 365 * 86_400;

/**
 * Reads the tokens (RFC 6749, section 5.1, as far as it applies), or says what is wrong with the answer.
 * @param expected the packet's own scope; the granted one must be the same, and is where the answer names none
 */
export function readTokens(
  body: string,
  expected: readonly string[] | undefined,
): { tokens: PairedTokens } | { problem: string } {
  const answer = parsed(body);
  if (answer === undefined) return { problem: "its answer is not a JSON object" };
  const { access_token: access, refresh_token: refresh, expires_in: expiry, scope, token_type: type } = answer;
  if (typeof access !== "string" || !TOKEN.test(access)) return { problem: "its answer has no access_token" };
  if (type !== undefined && (typeof type !== "string" || type.toLowerCase() !== "bearer")) {
    return { problem: "its token_type is not Bearer" };
  }
  if (refresh !== undefined && refresh !== null && (typeof refresh !== "string" || !TOKEN.test(refresh))) {
    return { problem: "its refresh_token cannot be read" };
  }
  const seconds = typeof expiry === "string" && /^\d{1,12}$/.test(expiry) ? Number(expiry) : expiry;
  if (seconds !== undefined && seconds !== null && !(typeof seconds === "number" && seconds > 0)) {
    return { problem: "its expires_in is not a number of seconds" };
  }
  if (scope !== undefined && scope !== null && (typeof scope !== "string" || scope.length > MAX_SCOPE)) {
    return { problem: "its scope cannot be read" };
  }
  // RFC 6749, section 5.1: a scope that is not named is the one that was asked for.
  const granted = typeof scope === "string" ? scopeWords(scope) : expected;
  if (typeof scope === "string" && granted === undefined) return { problem: "its scope cannot be read" };
  if (expected !== undefined && granted?.join(" ") !== expected.join(" ")) {
    return { problem: `it granted the scope "${granted?.join(" ")}" and the packet says "${expected.join(" ")}"` };
  }
  return {
    tokens: {
      accessToken: access,
      ...(typeof refresh === "string" ? { refreshToken: refresh } : {}),
      ...(typeof seconds === "number" ? { expiresIn: Math.min(seconds, MAX_EXPIRES_IN) } : {}),
      ...(granted === undefined || granted.length === 0 ? {} : { scope: granted.join(" ") }),
    },
  };
}

/**
 * The provider's own words about a refusal: `error_description`, else `error` (RFC 6749, section 5.2). One line,
 * bounded, without the claim, whatever way it was echoed.
 */
export function wordsOf(body: string, claim: string): string {
  const answer = parsed(body);
  const said = answer?.["error_description"] ?? answer?.["error"] ?? answer?.["message"];
  if (typeof said !== "string") return "";
  let line = said.replace(/[\s\p{C}]+/gu, " ").trim();
  for (const form of [claim, encodeURIComponent(claim)]) line = line.replaceAll(form, "[claim]");
  line = line.replace(/jackfield-pair.*/i, "[packet]");
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS - 1)}…` : line;
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    // Not JSON: the caller says so.
    return undefined;
  }
}
