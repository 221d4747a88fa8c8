import { asciiColumn, createTable, dropTable, textColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "secrets";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      owner: ulidColumn,
      field: asciiColumn(64),
      sealed: textColumn,
    },
    primaryKey: "id",
    unique: [["owner", "field"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
