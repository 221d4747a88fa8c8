import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  momentColumn,
  nullable,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "oauth_artifacts";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      model: asciiColumn(32),
      artifact_key: digestColumn,
      grant_key: nullable(digestColumn),
      sealed_payload: textColumn,
      consumed_at: nullable(momentColumn),
      expires_at: momentColumn,
    },
    primaryKey: "id",
    unique: [["artifact_key"]],
    indexes: [["grant_key"], ["expires_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
