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

const TABLE = "accounts";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      connection_id: ulidColumn,
      principal_key: digestColumn,
      principal_issuer: stringColumn(255),
      principal_subject: stringColumn(255),
      authorization_server: textColumn,
      registration_id: nullable(ulidColumn),
      oauth_app: nullable(asciiColumn(64)),
      token_endpoint: nullable(textColumn),
      revocation_endpoint: nullable(textColumn),
      bound_origin: textColumn,
      bound_resource: textColumn,
      resource: nullable(textColumn),
      minted_with: nullable(digestColumn),
      scopes_asked: textColumn,
      scopes_granted: textColumn,
      scopes_wanted: nullable(textColumn),
      step_ups: integerColumn,
      sealed_tokens: nullable(textColumn),
      expires_at: nullable(momentColumn),
      refresh_after: nullable(momentColumn),
      version: integerColumn,
      refreshing_since: nullable(momentColumn),
      state: stateColumn(["connected", "needs_sign_in"]),
      ended_reason: nullable(asciiColumn(64)),
      connected_by: nullable(stringColumn(255)),
      created_at: momentColumn,
      updated_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["connection_id", "principal_key"]],
    indexes: [["registration_id"], ["organization_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
