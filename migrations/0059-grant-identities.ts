import { addColumns, dropColumns, nullable, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "oauth_grants";

export const up: Migration = ({ context }) => addColumns(context, TABLE, { identity_id: nullable(ulidColumn) });

export const down: Migration = ({ context }) => dropColumns(context, TABLE, ["identity_id"]);
