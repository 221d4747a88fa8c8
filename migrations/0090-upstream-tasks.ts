import {
  createTable,
  digestColumn,
  dropTable,
  momentColumn,
  nullable,
  stateColumn,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "upstream_tasks";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      connection_id: ulidColumn,
      principal_key: digestColumn,
      kind: stateColumn(["task", "context"]),
      identity_hash: digestColumn,
      sealed_state: textColumn,
      secret_hash: nullable(digestColumn),
      told_at: nullable(momentColumn),
      created_at: momentColumn,
      expires_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["identity_hash"]],
    indexes: [["expires_at"], ["connection_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
