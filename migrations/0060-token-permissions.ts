/** What a token may at the API, beside calling tools. */
import { addColumns, asciiColumn, dropColumns, nullable } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "agent_tokens";

export const up: Migration = ({ context }) => addColumns(context, TABLE, { permissions: nullable(asciiColumn(255)) });

export const down: Migration = ({ context }) => dropColumns(context, TABLE, ["permissions"]);
