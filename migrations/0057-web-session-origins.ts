import { addColumns, asciiColumn, dropColumns, nullable, stringColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "web_sessions";

const COLUMNS = {
  means: nullable(asciiColumn(64)),
  identity_id: nullable(ulidColumn),
  address: nullable(asciiColumn(64)),
  user_agent: nullable(stringColumn(255)),
};

export const up: Migration = ({ context }) => addColumns(context, TABLE, COLUMNS);

export const down: Migration = ({ context }) => dropColumns(context, TABLE, Object.keys(COLUMNS));
