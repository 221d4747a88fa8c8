import { createTable, digestColumn, dropTable, momentColumn, nullable, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "web_sessions";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      token_hash: digestColumn,
      person_id: ulidColumn,
      created_at: momentColumn,
      last_seen_at: momentColumn,
      authenticated_at: momentColumn,
      ended_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["token_hash"]],
    indexes: [["person_id"], ["created_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
