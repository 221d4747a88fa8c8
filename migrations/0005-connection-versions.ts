import {
  asciiColumn,
  createTable,
  dropTable,
  jsonColumn,
  nullable,
  stateColumn,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "connection_versions";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      version_id: ulidColumn,
      connection_id: ulidColumn,
      type: asciiColumn(16),
      label: stringColumn(255),
      config: jsonColumn,
      origin: stateColumn(["file", "web"]),
      source: nullable(stringColumn(255)),
    },
    primaryKey: "id",
    unique: [["version_id", "connection_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
