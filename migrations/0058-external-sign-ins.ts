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

const TABLE = "external_sign_ins";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      state_hash: digestColumn,
      browser_hash: digestColumn,
      provider: asciiColumn(64),
      purpose: stateColumn(["sign_in", "link", "invite"]),
      person_id: nullable(ulidColumn),
      link_id: nullable(ulidColumn),
      return_to: textColumn,
      sealed_session: textColumn,
      sealed_response: nullable(textColumn),
      created_at: momentColumn,
      expires_at: momentColumn,
      claimed_at: nullable(momentColumn),
    },
    primaryKey: "id",
    unique: [["state_hash"]],
    indexes: [["expires_at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
