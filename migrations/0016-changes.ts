import {
  asciiColumn,
  createTable,
  dropTable,
  jsonColumn,
  momentColumn,
  sequenceColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "changes";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: sequenceColumn,
      origin: ulidColumn,
      topic: asciiColumn(32),
      payload: jsonColumn,
      at: momentColumn,
    },
    indexes: [["at"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
