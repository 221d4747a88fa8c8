import {
  asciiColumn,
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

const TABLE = "sign_in_attempts";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      connection_id: ulidColumn,
      principal_key: digestColumn,
      state: stateColumn(["offered", "pending", "redeeming", "connected", "failed"]),
      sealed_ticket: nullable(textColumn),
      person_id: nullable(ulidColumn),
      state_hash: nullable(digestColumn),
      browser_hash: nullable(digestColumn),
      redirect_uri: nullable(textColumn),
      sealed_flow: nullable(textColumn),
      outcome_code: nullable(asciiColumn(64)),
      outcome_text: nullable(textColumn),
      created_at: momentColumn,
      expires_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["state_hash"]],
    indexes: [["connection_id", "principal_key", "state"], ["expires_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
