/** Which scopes a sign-in asks for (MCP, "Scope Selection Strategy" and "Step-Up Authorization Flow"). */
import { computeScopeUnion } from "@modelcontextprotocol/client";
import type { Discovered } from "./discovery.ts";
import type { Account } from "./types.ts";

export interface ScopeSources {
  /** `auth.scopes` of the connection: the operator's word. */
  readonly configured: readonly string[] | undefined;
  readonly found: Pick<Discovered, "challengedScopes" | "resourceScopes">;
  /** `scopes_supported` of the authorization server. */
  readonly serverScopes: readonly string[] | undefined;
  /** The account that there is already, signed in or not. */
  readonly account: Account | undefined;
}

/**
 * The scopes to ask for; none: the authorization server's own default.
 *
 * A step-up asks for everything that was asked before as well, because the new grant replaces the old one.
 */
export function scopesToAsk({ configured, found, serverScopes, account }: ScopeSources): string[] {
  const base = configured?.join(" ") ?? found.challengedScopes ?? found.resourceScopes?.join(" ");
  const wanted = account?.scopesWanted ?? undefined;
  const before = wanted === undefined ? undefined : account?.scopesAsked;
  const scopes = words(computeScopeUnion(base, before, wanted));
  // A refresh token is asked for by name where the server lists it; never because the resource did (SEP-2207).
  const refreshable = scopes.length > 0 && serverScopes?.includes("offline_access") === true;
  return refreshable && !scopes.includes("offline_access") ? [...scopes, "offline_access"] : scopes;
}

function words(scope: string | undefined): string[] {
  return scope === undefined ? [] : scope.split(" ");
}
