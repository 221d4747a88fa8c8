import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, reference, string, type Table } from "./table.ts";

/** That a person need not be asked again about this client, target and endpoint. */
export interface OAuthConsentRow {
  id: string;
  personId: string;
  /** SHA-256 of client id, redirect URI and endpoint. */
  consentKey: string;
  /** SHA-256 of `client_id`. */
  clientKey: string;
  scopes: string;
  createdAt: Date;
}

export function defineOAuthConsents(sequelize: Sequelize): Table<OAuthConsentRow> {
  return defineTable<OAuthConsentRow>(
    sequelize,
    "oauth_consents",
    {
      id: id(),
      personId: reference(),
      consentKey: digest(),
      clientKey: digest(),
      scopes: string(255),
      createdAt: moment(),
    },
    [["personId", "consentKey"]],
  );
}
