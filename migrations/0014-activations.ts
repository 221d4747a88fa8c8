import { asciiColumn, createTable, digestColumn, dropTable, momentColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "activations";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      endpoint_id: ulidColumn,
      holder_key: digestColumn,
      tool_name: asciiColumn(48),
      activated_at: momentColumn,
      last_used_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["endpoint_id", "holder_key", "tool_name"]],
    indexes: [["last_used_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
