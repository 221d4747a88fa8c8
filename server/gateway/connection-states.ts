/**
 * How the connections are for one caller. The toolset is shared; whether an account is there is each caller's own.
 */
import type { Authorizations } from "./authorization.ts";
import type { GatewayCaller } from "./caller.ts";
import type { VisibleConnection } from "./toolset.ts";

/** The toolset's connections with what this caller still has to do. Asking makes nothing. */
export async function connectionsFor(
  authorizations: Authorizations,
  caller: GatewayCaller,
): Promise<VisibleConnection[]> {
  return Promise.all(caller.toolset.connections.map((connection) => forCaller(authorizations, caller, connection)));
}

/** Required connections that this caller cannot use now, each with the reason. */
export async function unmetRequirements(authorizations: Authorizations, caller: GatewayCaller): Promise<string[]> {
  const required = caller.toolset.connections.filter((connection) => connection.required);
  const states = await Promise.all(required.map((connection) => forCaller(authorizations, caller, connection)));
  return states
    .filter(({ state }) => state !== "ok")
    .map(({ slug, state, error, signInUrl }) => {
      const why = state === "needsAuthorization" && signInUrl ? `sign in at ${signInUrl}` : (error?.message ?? state);
      return `${slug} is required and cannot be used now (${why}).`;
    });
}

async function forCaller(
  authorizations: Authorizations,
  caller: GatewayCaller,
  connection: VisibleConnection,
): Promise<VisibleConnection> {
  const served = caller.toolset.served.get(connection.slug);
  if (served?.auth.method !== "oauth") return connection;
  const need = await authorizations.need(served, caller.principal);
  if (need) return { ...connection, state: "needsAuthorization", ...(need.url ? { signInUrl: need.url } : {}) };
  return connection.state === "needsAuthorization" ? { ...connection, state: "ok" } : connection;
}
