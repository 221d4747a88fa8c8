import {
  asciiColumn,
  createTable,
  dropTable,
  jsonColumn,
  momentColumn,
  nullable,
  stateColumn,
  textColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "connection_states";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      connection_id: ulidColumn,
      health: stateColumn(["healthy", "unhealthy", "untested", "configured"]),
      health_code: nullable(asciiColumn(64)),
      health_message: nullable(textColumn),
      checked_at: nullable(momentColumn),
      catalogue_at: nullable(momentColumn),
      catalogue_revision: nullable(ulidColumn),
      load_error_code: nullable(asciiColumn(64)),
      load_error_message: nullable(textColumn),
      load_error_at: nullable(momentColumn),
      introduction: nullable(jsonColumn),
      memory: nullable(jsonColumn),
    },
    primaryKey: "connection_id",
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
