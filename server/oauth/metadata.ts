/** What clients discover: the protected resource document (RFC 9728) and the challenge that leads to it (RFC 6750). */
import type { JsonObject } from "../../adapters/contract.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import { pathOf } from "./resources.ts";
import { DEFAULT_SCOPES } from "./scopes.ts";

export const RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource";

/**
 * The document of one endpoint.
 * @param resource its URL exactly as the client has it: strict ones compare character by character
 */
export function resourceDocument(endpoint: ServedEndpoint, resource: string, issuer: string): JsonObject {
  return {
    resource,
    authorization_servers: [issuer],
    scopes_supported: [...DEFAULT_SCOPES],
    bearer_methods_supported: ["header"],
    resource_name: `Jackfield: ${endpoint.label}`,
  };
}

/** What is wrong with a request, as its challenge says it. */
export type ChallengeError = "invalid_token" | "insufficient_scope";

/**
 * The value of `WWW-Authenticate`.
 * @param endpoint absent where nothing can be signed in to: no endpoint, or one for configured tokens only
 * @param origin as it is to be shown to this client
 */
export function challengeFor(
  endpoint: ServedEndpoint | undefined,
  origin: string,
  path: string | undefined,
  error?: ChallengeError,
): string {
  const parameters = [`realm="jackfield"`];
  if (error !== undefined) parameters.push(`error="${error}"`);
  if (endpoint) {
    // Several clients keep only the scopes of the last challenge, so that each one names them all.
    parameters.push(`resource_metadata="${origin}${RESOURCE_METADATA_PATH}${path ?? pathOf(endpoint)}"`);
    parameters.push(`scope="${DEFAULT_SCOPES.join(" ")}"`);
  }
  return `Bearer ${parameters.join(", ")}`;
}
