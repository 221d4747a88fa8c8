/**
 * A scope that a call needs and its token lacks. A person's client is told where the person can allow it more, as a
 * result and not as HTTP 403: several clients drop such challenges (MCP 2026-07-28, step-up authorization flow).
 */
import type { JsonObject } from "../../adapters/contract.ts";
import { ERRORS, JackfieldError } from "../errors.ts";
import { type Principal, SCOPES, type Scope } from "../people/principal.ts";
import { failure } from "./results.ts";

export interface StepUp {
  /** A page of ours where the person allows the client one scope more; undefined for tokens that nobody consented to. */
  page(principal: Principal, scope: Scope): string | undefined;
  /** The principal with the scope as soon as it was allowed; undefined where it was not after `ms`. */
  arrival(principal: Principal, scope: Scope, signal: AbortSignal, ms: number): Promise<Principal | undefined>;
}

export interface MissingScope {
  readonly scope: Scope;
  /** What to do, for whoever reads the refused call. */
  readonly text: string;
  /** As the error's data, where it is no result. */
  readonly data: JsonObject;
}

/** RFC 6750 section 3.1. */
const INSUFFICIENT = "insufficient_scope";

/** What a principal whose token lacks a scope can do about it. */
export function missingScope(stepUp: StepUp, principal: Principal, scope: Scope): MissingScope {
  const url = stepUp.page(principal, scope);
  // All that the call needs, the scopes that are there already among them: clients keep the last list that they saw.
  const needed = SCOPES.filter((one) => one === scope || principal.scopes.has(one)).join(" ");
  if (url === undefined) {
    const text = `The token lacks the scope ${scope}. Use one that has it, or ask an administrator for one.`;
    return { scope, text, data: { error: INSUFFICIENT, scope: needed, missing: scope } };
  }
  return {
    scope,
    text: `This client was not allowed to do that: it lacks the scope ${scope}. Open ${url} in a browser, allow it there, then call again.`,
    data: { error: INSUFFICIENT, scope: needed, missing: scope, url },
  };
}

/** The refused call as a result. */
export function scopeRefused({ text, data }: MissingScope, more: JsonObject = {}): JsonObject {
  const refused = failure("scope_refused", `${ERRORS.scope_refused.text} ${text}`, { ...more, ...data });
  return "url" in data ? { ...refused, structuredContent: { status: "authorization_required", ...data } } : refused;
}

/** The same, where a failure is a protocol error. */
export function scopeError({ text, data }: MissingScope): JackfieldError {
  return new JackfieldError("scope_missing", { text, data });
}

/** What `scopeRefused` said, where there is a page to open. */
export function stepUpPageOf({ isError, structuredContent }: JsonObject): { scope: Scope; url: string } | undefined {
  if (isError !== true || typeof structuredContent !== "object" || structuredContent === null) return undefined;
  const { error, missing, url }: JsonObject = { ...structuredContent };
  const scope = SCOPES.find((one) => one === missing);
  return error === INSUFFICIENT && scope !== undefined && typeof url === "string" ? { scope, url } : undefined;
}
