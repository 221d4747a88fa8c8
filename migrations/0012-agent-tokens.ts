import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  jsonColumn,
  momentColumn,
  nullable,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "agent_tokens";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      agent_id: ulidColumn,
      name: stringColumn(128),
      hash: digestColumn,
      last4: asciiColumn(4),
      scopes: asciiColumn(255),
      endpoint_ids: jsonColumn,
      variables: jsonColumn,
      allowed_networks: nullable(jsonColumn),
      expires_at: nullable(momentColumn),
      created_by: stringColumn(255),
      created_at: momentColumn,
      last_used_at: nullable(momentColumn),
      last_used_ip: nullable(asciiColumn(45)),
      revoked_at: nullable(momentColumn),
      rotated_from: nullable(ulidColumn),
    },
    primaryKey: "id",
    unique: [["hash"]],
    indexes: [["organization_id", "name"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
