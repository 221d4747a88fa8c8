import {
  addColumns,
  addIndex,
  digestColumn,
  dropColumns,
  dropIndex,
  integerColumn,
  nullable,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "audit_events";

const COLUMNS = {
  chain_id: nullable(ulidColumn),
  sequence: nullable(integerColumn),
  previous_hash: nullable(digestColumn),
  hash: nullable(digestColumn),
  end_sequence: nullable(integerColumn),
  end_previous_hash: nullable(digestColumn),
  end_hash: nullable(digestColumn),
};

const UNIQUE = [
  ["chain_id", "sequence"],
  ["chain_id", "end_sequence"],
];

/** By whom and with which token; the other questions are answered by the indexes that were there. */
const INDEXES = [
  ["principal_subject", "at"],
  ["token_id", "at"],
];

export const up: Migration = async ({ context }) => {
  await addColumns(context, TABLE, COLUMNS);
  for (const columns of UNIQUE) await addIndex(context, TABLE, columns, { unique: true });
  for (const columns of INDEXES) await addIndex(context, TABLE, columns);
};

export const down: Migration = async ({ context }) => {
  for (const columns of [...UNIQUE, ...INDEXES]) await dropIndex(context, TABLE, columns);
  await dropColumns(context, TABLE, Object.keys(COLUMNS));
};
