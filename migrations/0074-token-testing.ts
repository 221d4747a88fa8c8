/** Whether a token sees the drafts of environments, to try them before they are published. */
import { addColumns, dropColumns, integerColumn, nullable } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "agent_tokens";

export const up: Migration = ({ context }) => addColumns(context, TABLE, { testing: nullable(integerColumn) });

export const down: Migration = ({ context }) => dropColumns(context, TABLE, ["testing"]);
