import {
  addColumns,
  asciiColumn,
  digestColumn,
  dropColumns,
  momentColumn,
  nullable,
  stringColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const ENVIRONMENT = {
  drafts_since: nullable(momentColumn),
  files_digest: nullable(digestColumn),
  retired_at: nullable(momentColumn),
};

/** What was a column of the environment before it could wait in a draft. */
const VERSION = {
  label: nullable(stringColumn(255)),
  parent_id: nullable(ulidColumn),
  settings_origin: nullable(asciiColumn(8)),
  note: nullable(stringColumn(255)),
};

export const up: Migration = async ({ context }) => {
  await addColumns(context, "environments", ENVIRONMENT);
  await addColumns(context, "environment_versions", VERSION);
};

export const down: Migration = async ({ context }) => {
  await dropColumns(context, "environments", Object.keys(ENVIRONMENT));
  await dropColumns(context, "environment_versions", Object.keys(VERSION));
};
