import { createTable, digestColumn, dropTable, momentColumn, stateColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "pairing_packets";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      packet_hash: digestColumn,
      connection_id: ulidColumn,
      principal_key: digestColumn,
      state: stateColumn(["claimed", "redeemed", "refused", "unknown"]),
      created_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["packet_hash"]],
    indexes: [["connection_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
