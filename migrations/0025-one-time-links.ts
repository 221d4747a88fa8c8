import {
  createTable,
  digestColumn,
  dropTable,
  momentColumn,
  nullable,
  stateColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "one_time_links";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      kind: stateColumn(["setup", "invite", "reset"]),
      hash: digestColumn,
      organization_id: ulidColumn,
      role: stateColumn(["admin", "member"]),
      person_id: nullable(ulidColumn),
      created_at: momentColumn,
      expires_at: momentColumn,
      used_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["hash"]],
    indexes: [["expires_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
