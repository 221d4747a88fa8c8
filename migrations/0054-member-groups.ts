import { asciiColumn, createTable, dropTable, stringColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "member_groups";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      person_id: ulidColumn,
      name: stringColumn(128),
      source: asciiColumn(64),
    },
    primaryKey: "id",
    unique: [["organization_id", "person_id", "source", "name"]],
    indexes: [["person_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
