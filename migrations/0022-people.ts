import {
  asciiColumn,
  createTable,
  dropTable,
  momentColumn,
  nullable,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "people";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      username: asciiColumn(128),
      name: stringColumn(128),
      email: nullable(stringColumn(255)),
      password_hash: nullable(asciiColumn(255)),
      created_at: momentColumn,
      disabled_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["username"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
