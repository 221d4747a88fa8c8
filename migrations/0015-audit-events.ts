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

const TABLE = "audit_events";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      at: momentColumn,
      organization_id: ulidColumn,
      environment_id: nullable(ulidColumn),
      endpoint_id: nullable(ulidColumn),
      endpoint_slug: nullable(asciiColumn(64)),
      connection_id: nullable(ulidColumn),
      connection_slug: nullable(asciiColumn(64)),
      principal_kind: asciiColumn(16),
      principal_issuer: stringColumn(255),
      principal_subject: stringColumn(255),
      principal_name: stringColumn(255),
      token_id: nullable(ulidColumn),
      client_key: nullable(digestColumn),
      door: asciiColumn(32),
      era: nullable(asciiColumn(16)),
      tool_name: nullable(stringColumn(255)),
      action: nullable(textColumn),
      class: nullable(asciiColumn(16)),
      decision: stateColumn(["allow", "refuse", "needs_approval"]),
      rule: nullable(stringColumn(255)),
      reason: nullable(textColumn),
      arguments_digest: nullable(digestColumn),
      outcome: stateColumn(["open", "ok", "tool_error", "error", "refused", "cancelled", "outcome_unknown"]),
      outcome_code: nullable(asciiColumn(64)),
      duration_ms: nullable(integerColumn),
      trace_id: nullable(asciiColumn(64)),
    },
    primaryKey: "id",
    indexes: [
      ["organization_id", "at"],
      ["connection_id", "at"],
      ["outcome", "at"],
    ],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
