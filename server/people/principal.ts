import { createHash } from "node:crypto";
import type { PersonInOrganization } from "../access/principals.ts";

export const SCOPES = ["mcp:read", "mcp:write", "mcp:pair"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls: a person or an agent, always inside one organization. */
export interface Principal {
  /**
   * `person`: somebody who signed in and sits there. `agent`: whatever holds a token, one of a person's own included:
   * it decides nothing and has no permission of the person.
   */
  readonly kind: "agent" | "person";
  readonly organizationId: string;
  readonly issuer: string;
  /** The agent's or person's own id, stable over their tokens. */
  readonly subject: string;
  readonly name: string;
  /** See `principalKey`. */
  readonly key: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly tokenId: string;
  /** See `clientKey`: the grant or token that the call came with. */
  readonly clientKey: string;
  /** The only endpoints at which the token works. */
  readonly endpointIds: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Of a person's own token: what decides which of its endpoints are theirs. */
  readonly membership?: PersonInOrganization;
  /** Sees the drafts of environments instead of what is published, to try them. */
  readonly testing?: true;
}

/** One digest for issuer and subject together: SHA-256 in hexadecimal. */
export function principalKey(issuer: string, subject: string): string {
  return createHash("sha256").update(`${issuer}\0${subject}`).digest("hex");
}

/** A digest that tells one grant or token from another: SHA-256 of its id in hexadecimal. */
export function clientKey(tokenId: string): string {
  return createHash("sha256").update(tokenId).digest("hex");
}

/** The scopes named in a space-separated list; unknown words are left out. */
export function parseScopes(text: string): Set<Scope> {
  const words = new Set(text.split(" "));
  return new Set(SCOPES.filter((scope) => words.has(scope)));
}
