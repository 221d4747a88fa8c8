import { asciiColumn, createTable, dropTable, nullable, stringColumn, ulidColumn } from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "environments";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      organization_id: ulidColumn,
      slug: asciiColumn(64),
      name: stringColumn(255),
      parent_id: nullable(ulidColumn),
      published_version_id: nullable(ulidColumn),
    },
    primaryKey: "id",
    unique: [["organization_id", "slug"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
