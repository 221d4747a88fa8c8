import { asciiColumn, createTable, dropTable, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "endpoints";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      environment_id: ulidColumn,
      slug: asciiColumn(64),
    },
    primaryKey: "id",
    unique: [["environment_id", "slug"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
