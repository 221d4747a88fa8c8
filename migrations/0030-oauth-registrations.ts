import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  jsonColumn,
  momentColumn,
  nullable,
  stateColumn,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "oauth_registrations";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      issuer: textColumn,
      issuer_key: digestColumn,
      kind: stateColumn(["static", "cimd", "dcr"]),
      reference: asciiColumn(64),
      client_id: textColumn,
      sealed_secret: nullable(textColumn),
      token_endpoint_auth_method: stateColumn(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]),
      redirect_uri: textColumn,
      metadata: nullable(jsonColumn),
      created_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["organization_id", "issuer_key", "kind", "reference"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
