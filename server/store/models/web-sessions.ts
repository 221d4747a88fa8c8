import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, reference, type Table } from "./table.ts";

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
    },
    [["tokenHash"]],
  );
}
