import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, reference, string, type Table } from "./table.ts";

/** One browser in which a person signed in. */
export interface WebSessionRow {
  id: string;
  /** SHA-256 of the cookie's value. */
  tokenHash: string;
  personId: string;
  createdAt: Date;
  /** Written at most once a minute. */
  lastSeenAt: Date;
  /** When the person last proved who they are. */
  authenticatedAt: Date;
  endedAt: Date | null;
  /** How the person signed in: `password`, the kind of a link, or the id of a provider. */
  means: string | null;
  /** The identity with which they did. */
  identityId: string | null;
  /** Where from, as far as known. */
  address: string | null;
  /** What the browser calls itself; a stranger's text. */
  userAgent: string | null;
}

export function defineWebSessions(sequelize: Sequelize): Table<WebSessionRow> {
  return defineTable<WebSessionRow>(
    sequelize,
    "web_sessions",
    {
      id: id(),
      tokenHash: digest(),
      personId: reference(),
      createdAt: moment(),
      lastSeenAt: moment(),
      authenticatedAt: moment(),
      endedAt: moment({ allowNull: true }),
      means: string(64, { allowNull: true }),
      identityId: reference({ allowNull: true }),
      address: string(64, { allowNull: true }),
      userAgent: string(255, { allowNull: true }),
    },
    [["tokenHash"]],
  );
}
