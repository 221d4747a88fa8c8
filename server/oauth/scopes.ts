/** The scopes of our authorization server, and what becomes of those that clients ask for. */
import { parseScopes, SCOPES, type Scope } from "../people/principal.ts";

/** What a client gets that asks for nothing we know; named in every challenge. */
export const DEFAULT_SCOPES: readonly Scope[] = ["mcp:read", "mcp:write"];

/** Known to OpenID Connect clients. Refresh tokens do not depend on it: several clients never ask. */
export const OFFLINE_ACCESS = "offline_access";

/** A scope as the consent page explains it. */
export interface ScopeWords {
  readonly title: string;
  readonly text: string;
}

export const SCOPE_WORDS: Readonly<Record<Scope, ScopeWords>> = {
  "mcp:read": { title: "Look things up", text: "Find tools and call those that only read" },
  "mcp:write": { title: "Make changes", text: "Call tools that write. Those that need approval still ask a person" },
  "mcp:pair": { title: "Pair connections", text: "Redeem one-time packets for a connection" },
};

/**
 * The `scope` of an authorization request: what we do not know is dropped, never an error, because clients ask for
 * every OpenID scope they have heard of; where nothing of ours is left it is the default set.
 */
export function askedScope(scope: string | null | undefined): string {
  const words = new Set((scope ?? "").split(/\s+/));
  const ours: readonly string[] = SCOPES.filter((one) => words.has(one));
  const kept = ours.length === 0 ? [...DEFAULT_SCOPES] : [...ours];
  return [...kept, ...(words.has(OFFLINE_ACCESS) ? [OFFLINE_ACCESS] : [])].join(" ");
}

/** The `scope` of a refresh: what we do not know is dropped; undefined where nothing is left, which means all of it. */
export function refreshedScope(scope: string): string | undefined {
  const words = new Set(scope.split(/\s+/));
  const ours = [...SCOPES, OFFLINE_ACCESS].filter((one) => words.has(one));
  return ours.length === 0 ? undefined : ours.join(" ");
}

/** The scopes of a token with those they imply: who may write may read (MCP 2026-07-28, scope hierarchies). */
export function impliedScopes(scope: string): Set<Scope> {
  const scopes = parseScopes(scope);
  if (scopes.has("mcp:write")) scopes.add("mcp:read");
  return scopes;
}
