import { asciiColumn, createTable, dropTable, textColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "settings";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      key: asciiColumn(64),
      value: textColumn,
    },
    primaryKey: "key",
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
