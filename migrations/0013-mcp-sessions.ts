import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  jsonColumn,
  momentColumn,
  nullable,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "mcp_sessions";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      session_hash: digestColumn,
      organization_id: ulidColumn,
      endpoint_id: ulidColumn,
      principal_key: digestColumn,
      client_key: digestColumn,
      protocol_version: asciiColumn(16),
      initialize: jsonColumn,
      log_level: nullable(asciiColumn(16)),
      subscriptions: nullable(jsonColumn),
      created_at: momentColumn,
      last_seen_at: momentColumn,
      closed_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["session_hash"]],
    indexes: [["last_seen_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
