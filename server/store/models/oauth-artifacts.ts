import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, string, type Table, text } from "./table.ts";

/** What our authorization server handed out or remembers for a while: tokens, codes, interactions, grants. */
export interface OAuthArtifactRow {
  id: string;
  /** The library's name for its kind: `AccessToken`, `RefreshToken`, ... */
  model: string;
  /** SHA-256 of kind and id; for a token the id is the token. */
  artifactKey: string;
  /** SHA-256 of the id of the grant it belongs to. */
  grantKey: string | null;
  sealedPayload: string;
  /** When a code or refresh token was first used. */
  consumedAt: Date | null;
  expiresAt: Date;
}

export function defineOAuthArtifacts(sequelize: Sequelize): Table<OAuthArtifactRow> {
  return defineTable<OAuthArtifactRow>(
    sequelize,
    "oauth_artifacts",
    {
      id: id(),
      model: string(32),
      artifactKey: digest(),
      grantKey: digest({ allowNull: true }),
      sealedPayload: text(),
      consumedAt: moment({ allowNull: true }),
      expiresAt: moment(),
    },
    [["artifactKey"]],
  );
}
