import { createTable, dropTable, momentColumn, textColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "audit_keys";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: { id: ulidColumn, sealed_key: textColumn, created_at: momentColumn },
    primaryKey: "id",
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
