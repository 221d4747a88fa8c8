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

const TABLE = "identities";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      person_id: ulidColumn,
      provider: asciiColumn(64),
      identity_key: digestColumn,
      issuer: stringColumn(512),
      subject: stringColumn(512),
      label: stringColumn(255),
      claims: jsonColumn,
      created_at: momentColumn,
      last_used_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["identity_key"]],
    indexes: [["person_id"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
