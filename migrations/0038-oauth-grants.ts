import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  momentColumn,
  nullable,
  stringColumn,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "oauth_grants";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      grant_key: digestColumn,
      organization_id: ulidColumn,
      endpoint_id: ulidColumn,
      person_id: ulidColumn,
      client_key: digestColumn,
      client_id: textColumn,
      client_name: stringColumn(128),
      resource: textColumn,
      redirect_uri: textColumn,
      scopes: asciiColumn(255),
      created_at: momentColumn,
      last_used_at: nullable(momentColumn),
      expires_at: momentColumn,
      ended_at: nullable(momentColumn),
      end_reason: nullable(asciiColumn(32)),
    },
    primaryKey: "id",
    unique: [["grant_key"]],
    indexes: [["organization_id", "person_id"], ["person_id"], ["client_key"], ["expires_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
