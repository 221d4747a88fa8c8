import type { Sequelize } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { defineTable, digest, id, json, moment, string, type Table, text } from "./table.ts";

/** A client that registered itself at our authorization server (RFC 7591). */
export interface OAuthClientRow {
  id: string;
  /** SHA-256 of `client_id`. */
  clientKey: string;
  clientId: string;
  /** As the client claims it. */
  name: string;
  /** Its metadata without the secret. */
  metadata: JsonObject;
  /** Sealed, not hashed: the library compares it in plain text. */
  sealedSecret: string | null;
  createdAt: Date;
  /** When a person first allowed it something. */
  authorizedAt: Date | null;
  /** Written at most once an hour. */
  lastUsedAt: Date | null;
}

export function defineOAuthClients(sequelize: Sequelize): Table<OAuthClientRow> {
  return defineTable<OAuthClientRow>(
    sequelize,
    "oauth_clients",
    {
      id: id(),
      clientKey: digest(),
      clientId: string(128),
      name: string(128),
      metadata: json("metadata"),
      sealedSecret: text({ allowNull: true }),
      createdAt: moment(),
      authorizedAt: moment({ allowNull: true }),
      lastUsedAt: moment({ allowNull: true }),
    },
    [["clientKey"]],
  );
}
