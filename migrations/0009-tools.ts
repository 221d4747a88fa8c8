import {
  asciiColumn,
  createTable,
  digestColumn,
  dropTable,
  integerColumn,
  jsonColumn,
  momentColumn,
  nullable,
  stateColumn,
  stringColumn,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "tools";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      connection_id: ulidColumn,
      upstream_key: digestColumn,
      upstream_name: textColumn,
      name: asciiColumn(48),
      name_key: asciiColumn(48),
      position: integerColumn,
      definition: jsonColumn,
      hash: digestColumn,
      reviewed_definition: nullable(jsonColumn),
      reviewed_hash: nullable(digestColumn),
      state: stateColumn(["pending", "approved", "changed", "gone"]),
      reviewed_by: nullable(stringColumn(255)),
      reviewed_at: nullable(momentColumn),
      findings: nullable(jsonColumn),
      first_seen_at: momentColumn,
      last_seen_at: momentColumn,
    },
    primaryKey: "id",
    unique: [
      ["connection_id", "upstream_key"],
      ["connection_id", "name_key"],
    ],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
