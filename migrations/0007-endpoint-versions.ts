import {
  createTable,
  dropTable,
  jsonColumn,
  nullable,
  stateColumn,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "endpoint_versions";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      version_id: ulidColumn,
      endpoint_id: ulidColumn,
      label: stringColumn(255),
      config: jsonColumn,
      origin: stateColumn(["file", "web"]),
      source: nullable(stringColumn(255)),
    },
    primaryKey: "id",
    unique: [["version_id", "endpoint_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
