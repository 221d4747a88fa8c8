import { addColumns, dropColumns, jsonColumn, nullable, stringColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "one_time_links";

const COLUMNS = {
  name: nullable(stringColumn(128)),
  member_groups: nullable(jsonColumn),
  created_by: nullable(stringColumn(255)),
};

export const up: Migration = ({ context }) => addColumns(context, TABLE, COLUMNS);

export const down: Migration = ({ context }) => dropColumns(context, TABLE, Object.keys(COLUMNS));
