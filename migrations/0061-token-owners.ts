/** Whose own a token is, who made it, and when it was given a successor. */
import {
  addColumns,
  addIndex,
  dropColumns,
  dropIndex,
  momentColumn,
  nullable,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "agent_tokens";

const COLUMNS = {
  person_id: nullable(ulidColumn),
  creator_id: nullable(ulidColumn),
  rotated_at: nullable(momentColumn),
};

export const up: Migration = async ({ context }) => {
  await addColumns(context, TABLE, COLUMNS);
  await addIndex(context, TABLE, ["person_id"]);
};

export const down: Migration = async ({ context }) => {
  await dropIndex(context, TABLE, ["person_id"]);
  await dropColumns(context, TABLE, Object.keys(COLUMNS));
};
