import { createTable, dropTable, stateColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "members";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      person_id: ulidColumn,
      role: stateColumn(["admin", "member"]),
    },
    primaryKey: "id",
    unique: [["organization_id", "person_id"]],
    indexes: [["person_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
