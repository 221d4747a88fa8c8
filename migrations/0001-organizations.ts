import { asciiColumn, createTable, dropTable, stringColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "organizations";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      slug: asciiColumn(64),
      name: stringColumn(255),
    },
    primaryKey: "id",
    unique: [["slug"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
