import {
  asciiColumn,
  createTable,
  dropTable,
  jsonColumn,
  momentColumn,
  nullable,
  stateColumn,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "configuration_edits";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      environment_id: ulidColumn,
      kind: stateColumn(["connection", "endpoint", "environment"]),
      slug: asciiColumn(64),
      author: stringColumn(255),
      at: momentColumn,
      before: nullable(jsonColumn),
      after: nullable(jsonColumn),
    },
    primaryKey: "id",
    indexes: [["environment_id", "kind", "slug"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
