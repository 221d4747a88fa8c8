import {
  asciiColumn,
  createTable,
  dropTable,
  momentColumn,
  stateColumn,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "credentials";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      name: asciiColumn(64),
      kind: stateColumn(["secret", "client", "fields"]),
      revision: ulidColumn,
      created_by: stringColumn(255),
      created_at: momentColumn,
      updated_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["organization_id", "name"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
