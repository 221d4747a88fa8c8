import { asciiColumn, createTable, digestColumn, dropTable, momentColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "oauth_consents";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      person_id: ulidColumn,
      consent_key: digestColumn,
      client_key: digestColumn,
      scopes: asciiColumn(255),
      created_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["person_id", "consent_key"]],
    indexes: [["client_key"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
