import { addColumns, addIndex, dropColumns, dropIndex, nullable, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "agents";

export const up: Migration = async ({ context }) => {
  await addColumns(context, TABLE, { person_id: nullable(ulidColumn) });
  await addIndex(context, TABLE, ["person_id"]);
};

export const down: Migration = async ({ context }) => {
  await dropIndex(context, TABLE, ["person_id"]);
  await dropColumns(context, TABLE, ["person_id"]);
};
