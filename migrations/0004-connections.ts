import { asciiColumn, createTable, dropTable, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "connections";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      environment_id: ulidColumn,
      slug: asciiColumn(24),
    },
    primaryKey: "id",
    unique: [["environment_id", "slug"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
