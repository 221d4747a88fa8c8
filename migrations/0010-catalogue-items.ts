import {
  createTable,
  digestColumn,
  dropTable,
  integerColumn,
  jsonColumn,
  stateColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "catalogue_items";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      connection_id: ulidColumn,
      kind: stateColumn(["prompt", "resource", "template"]),
      position: integerColumn,
      item_key: digestColumn,
      definition: jsonColumn,
    },
    primaryKey: "id",
    unique: [["connection_id", "kind", "item_key"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
