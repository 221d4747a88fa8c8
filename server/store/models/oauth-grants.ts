import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, reference, string, type Table, text } from "./table.ts";

/** What one person allowed one client at one endpoint; every token of it dies with it. */
export interface OAuthGrantRow {
  id: string;
  /** SHA-256 of the library's id of the grant. */
  grantKey: string;
  organizationId: string;
  endpointId: string;
  personId: string;
  /** SHA-256 of `client_id`. */
  clientKey: string;
  clientId: string;
  /** As the client claimed it when it was allowed. */
  clientName: string;
  /** URL of the endpoint: the audience of its tokens. */
  resource: string;
  redirectUri: string;
  scopes: string;
  createdAt: Date;
  /** Written at most once a minute. */
  lastUsedAt: Date | null;
  expiresAt: Date;
  endedAt: Date | null;
  endReason: string | null;
  /** The identity with which the person had signed in when they allowed it; its claims are `${{principal.*}}`. */
  identityId: string | null;
}

export function defineOAuthGrants(sequelize: Sequelize): Table<OAuthGrantRow> {
  return defineTable<OAuthGrantRow>(
    sequelize,
    "oauth_grants",
    {
      id: id(),
      grantKey: digest(),
      organizationId: reference(),
      endpointId: reference(),
      personId: reference(),
      clientKey: digest(),
      clientId: text(),
      clientName: string(128),
      resource: text(),
      redirectUri: text(),
      scopes: string(255),
      createdAt: moment(),
      lastUsedAt: moment({ allowNull: true }),
      expiresAt: moment(),
      endedAt: moment({ allowNull: true }),
      endReason: string(32, { allowNull: true }),
      identityId: reference({ allowNull: true }),
    },
    [["grantKey"]],
  );
}
