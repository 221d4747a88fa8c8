import type { Sequelize } from "sequelize";
import { defineTable, digest, id, json, moment, oneOf, reference, string, type Table, text } from "./table.ts";

export const REGISTRATION_KINDS = ["static", "cimd", "dcr"] as const;
export const AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"] as const;

/** Who an organization is at an authorization server. */
export interface OAuthRegistrationRow {
  id: string;
  organizationId: string;
  /** As the authorization server spells itself. */
  issuer: string;
  /** SHA-256 of it. */
  issuerKey: string;
  /** Given by the operator, our client id metadata document, or registered dynamically (RFC 7591). */
  kind: (typeof REGISTRATION_KINDS)[number];
  /** Name of the credential that holds a client given by the operator; empty for the other kinds. */
  reference: string;
  clientId: string;
  /** Secret of a dynamic registration; the operator's stays in the vault. */
  sealedSecret: string | null;
  tokenEndpointAuthMethod: (typeof AUTH_METHODS)[number];
  redirectUri: string;
  /** What the authorization server answered to a dynamic registration, without its secrets. */
  metadata: Record<string, unknown> | null;
  createdAt: Date;
}

export function defineOAuthRegistrations(sequelize: Sequelize): Table<OAuthRegistrationRow> {
  return defineTable<OAuthRegistrationRow>(
    sequelize,
    "oauth_registrations",
    {
      id: id(),
      organizationId: reference(),
      issuer: text(),
      issuerKey: digest(),
      kind: oneOf(REGISTRATION_KINDS),
      reference: string(64),
      clientId: text(),
      sealedSecret: text({ allowNull: true }),
      tokenEndpointAuthMethod: oneOf(AUTH_METHODS),
      redirectUri: text(),
      metadata: json("metadata", { allowNull: true }),
      createdAt: moment(),
    },
    [["organizationId", "issuerKey", "kind", "reference"]],
  );
}
