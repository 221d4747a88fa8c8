import {
  createTable,
  digestColumn,
  dropTable,
  integerColumn,
  jsonColumn,
  momentColumn,
  nullable,
  stateColumn,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "environment_versions";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      environment_id: ulidColumn,
      number: integerColumn,
      state: stateColumn(["draft", "published", "superseded"]),
      digest: digestColumn,
      forbid: nullable(jsonColumn),
      author: stringColumn(255),
      created_at: momentColumn,
      published_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["environment_id", "number"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
