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
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "approvals";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      environment_id: ulidColumn,
      endpoint_id: ulidColumn,
      endpoint_slug: asciiColumn(64),
      connection_id: ulidColumn,
      connection_slug: asciiColumn(64),
      tool_name: asciiColumn(255),
      action: textColumn,
      class: stateColumn(["read", "write"]),
      principal_key: digestColumn,
      principal_kind: stateColumn(["agent", "person"]),
      principal_issuer: stringColumn(255),
      principal_subject: stringColumn(255),
      principal_name: stringColumn(255),
      decider: stateColumn(["approver", "caller"]),
      self_approve: integerColumn,
      policy_revision: digestColumn,
      arguments_digest: digestColumn,
      open_key: nullable(digestColumn),
      sealed_arguments: textColumn,
      state: stateColumn(["pending", "approved", "refused", "used", "expired"]),
      round: integerColumn,
      created_at: momentColumn,
      expires_at: momentColumn,
      decided_at: nullable(momentColumn),
      decided_by: nullable(stringColumn(255)),
      decider_name: nullable(stringColumn(255)),
      reason: nullable(textColumn),
      used_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["open_key"]],
    indexes: [
      ["state", "expires_at"],
      ["organization_id", "state"],
      ["principal_key", "endpoint_id", "arguments_digest"],
    ],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
