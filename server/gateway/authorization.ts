/**
 * What a caller must do before a connection can be used: sign in, or ask who can (design section 4, step 7, and
 * section 7, Accounts). Asking changes nothing: no attempt is made until a browser opens the link.
 */
import type { ServedConnection } from "../connections/types.ts";
import type { Principal } from "../people/principal.ts";
import type { Bus } from "../shared-state/contract.ts";

/** Why a connection cannot be used yet. */
export interface AuthorizationNeed {
  /** What to do, for whoever reads the refused call. */
  readonly text: string;
  /** A page of ours that checks who opens it; absent where this caller may not sign in there. */
  readonly url?: string;
}

export interface Authorizations {
  /** Undefined where the connection can be used by this caller as far as we know. */
  need(connection: ServedConnection, principal: Principal): Promise<AuthorizationNeed | undefined>;
  /** Resolves with whether the account is there, at the latest after `ms`. */
  arrival(connection: ServedConnection, principal: Principal, signal: AbortSignal, ms: number): Promise<boolean>;
}

export interface AuthorizationParts {
  /** Whether an account is connected; answered from memory where known. */
  readonly connected: (connectionId: string, principalKey: string) => Promise<boolean>;
  /** Principal key of the deployment's own accounts. */
  readonly deploymentKey: string;
  readonly signInUrl: (connection: ServedConnection, principal: Principal) => string;
  /** Whether this principal may sign connections in that are not its own (`connections:write`). */
  readonly mayConnect: (principal: Principal) => Promise<boolean>;
  readonly bus: Bus;
}

/** Whose account of a connection a principal uses. */
export function accountKey(connection: ServedConnection, principal: Principal, deploymentKey: string): string {
  return connection.subject === "user" ? principal.key : deploymentKey;
}

/** Makes the part that tells what is missing. */
export function createAuthorizations(parts: AuthorizationParts): Authorizations {
  const { connected, deploymentKey, signInUrl, mayConnect, bus } = parts;
  return {
    async need(connection, principal) {
      if (connection.auth.method !== "oauth") {
        if (connection.state !== "needsAuthorization") return undefined;
        return {
          text: `${connection.label} has no credential yet. An administrator sets it: credential set ${connection.credential ?? connection.slug}.`,
        };
      }
      if (await connected(connection.id, accountKey(connection, principal, deploymentKey))) return undefined;
      if (connection.subject === "user") {
        const url = signInUrl(connection, principal);
        return {
          url,
          text: `${connection.label} needs a sign-in first. Open ${url} in a browser, sign in, then call again.`,
        };
      }
      if (await mayConnect(principal)) {
        const url = signInUrl(connection, principal);
        return {
          url,
          text: `${connection.label} is not signed in. Open ${url} in a browser, sign in for everyone who uses it, then call again.`,
        };
      }
      return {
        text: `${connection.label} is not signed in. Someone who may change connections (an administrator) must sign in to it first.`,
      };
    },
    async arrival(connection, principal, signal, ms) {
      const key = accountKey(connection, principal, deploymentKey);
      if (await connected(connection.id, key)) return true;
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          unsubscribe();
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        const unsubscribe = bus.subscribe("accounts", ({ connectionId }) => {
          // An empty message: one may have been lost. The store decides either way.
          if (connectionId === undefined || connectionId === connection.id) end();
        });
        signal.addEventListener("abort", end, { once: true });
      });
      return connected(connection.id, key);
    },
  };
}
