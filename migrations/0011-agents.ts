import { createTable, dropTable, stringColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "agents";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      name: stringColumn(128),
    },
    primaryKey: "id",
    unique: [["organization_id", "name"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
