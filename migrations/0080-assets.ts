import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  integerColumn,
  momentColumn,
  nullable,
  stateColumn,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "assets";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      handle: asciiColumn(32),
      organization_id: ulidColumn,
      environment_id: ulidColumn,
      principal_key: digestColumn,
      connection_id: nullable(ulidColumn),
      state: stateColumn(["writing", "ready"]),
      digest: nullable(digestColumn),
      size: integerColumn,
      type: stringColumn(255),
      name: stringColumn(255),
      created_at: momentColumn,
      expires_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["handle"]],
    indexes: [["organization_id", "principal_key"], ["expires_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
