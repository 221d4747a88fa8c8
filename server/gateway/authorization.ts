/**
 * What a caller must do before a connection can be used: sign in, or ask who can (design section 4, step 7, and
 * section 7, Accounts). Asking changes nothing: no attempt is made until a browser opens the link.
 */
import type { ServedConnection } from "../connections/types.ts";
import type { JackfieldError } from "../errors.ts";
import type { Principal } from "../people/principal.ts";
import { awaitArrival } from "../shared-state/arrival.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";

/** Why a connection cannot be used yet. */
export interface AuthorizationNeed {
  /** What to do, for whoever reads the refused call. */
  readonly text: string;
  /** A page of ours that checks who opens it; absent where this caller may not sign in there. */
  readonly url?: string;
}

export interface Authorizations {
  /**
   * Undefined where the connection can be used by this caller as far as we know.
   * @param refusal `authorization_required` of a call that found out better: then there is always a need
   */
  need(
    connection: ServedConnection,
    principal: Principal,
    refusal?: JackfieldError,
  ): Promise<AuthorizationNeed | undefined>;
  /** Resolves with whether the account is there, at the latest after `ms`. */
  arrival(connection: ServedConnection, principal: Principal, signal: AbortSignal, ms: number): Promise<boolean>;
}

export interface AuthorizationParts {
  /** Whether there is an account that the connection can use; answered from memory where known. */
  readonly connected: (connection: ServedConnection, principalKey: string) => Promise<boolean>;
  /** The same, and the service has not asked for more since. */
  readonly settled: (connection: ServedConnection, principalKey: string) => Promise<boolean>;
  readonly signInUrl: (connection: ServedConnection, principal: Principal) => string;
  /** Whether this principal may sign connections in that are not its own (`connections:write`). */
  readonly mayConnect: (principal: Principal) => Promise<boolean>;
  readonly bus: Bus;
}

/** Makes the part that tells what is missing. */
export function createAuthorizations(parts: AuthorizationParts): Authorizations {
  const { connected, settled, signInUrl, mayConnect, bus } = parts;
  return {
    async need(connection, principal, refusal) {
      if (connection.auth.method !== "oauth") {
        if (refusal) return { text: refusal.message };
        if (connection.state !== "needsAuthorization") return undefined;
        return {
          text: `${connection.label} has no credential yet. An administrator sets it: credential set ${connection.credential ?? connection.slug}.`,
        };
      }
      if (!refusal && (await connected(connection, principal.key))) return undefined;
      const own = connection.subject === "user";
      const why = refusal?.message ?? `${connection.label} ${own ? "needs a sign-in first" : "is not signed in"}.`;
      if (!own && !(await mayConnect(principal))) {
        return {
          text: `${why} Someone who may change connections (an administrator) must sign in to it first.`,
        };
      }
      const url = signInUrl(connection, principal);
      const forWhom = own ? "" : " for everyone who uses it";
      return { url, text: `${why} Open ${url} in a browser, sign in${forWhom}, then call again.` };
    },
    async arrival(connection, principal, signal, ms) {
      const arrived = await awaitArrival(bus, {
        topic: TOPICS.accounts,
        concerns: ({ connectionId }) => connectionId === undefined || connectionId === connection.id,
        look: async () => (await settled(connection, principal.key)) || undefined,
        signal,
        ms,
      });
      return arrived === true;
    },
  };
}
