import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  jsonColumn,
  momentColumn,
  nullable,
  stringColumn,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "oauth_clients";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      client_key: digestColumn,
      client_id: asciiColumn(128),
      name: stringColumn(128),
      metadata: jsonColumn,
      sealed_secret: nullable(textColumn),
      created_at: momentColumn,
      authorized_at: nullable(momentColumn),
      last_used_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["client_key"]],
    indexes: [["authorized_at", "created_at"], ["last_used_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
