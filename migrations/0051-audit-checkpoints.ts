import {
  createTable,
  digestColumn,
  dropTable,
  integerColumn,
  momentColumn,
  nullable,
  stateColumn,
  ulidColumn,
} from "../server/store/ddl.ts";
import type { Migration } from "../server/store/migrate.ts";

const TABLE = "audit_checkpoints";

export const up: Migration = ({ context }) =>
  createTable(context, TABLE, {
    columns: {
      id: ulidColumn,
      number: integerColumn,
      kind: stateColumn(["opened", "reached", "closed", "cut", "trimmed"]),
      chain_id: nullable(ulidColumn),
      sequence: integerColumn,
      hash: digestColumn,
      at: momentColumn,
      key_id: ulidColumn,
      previous_signature: digestColumn,
      signature: digestColumn,
    },
    primaryKey: "id",
    unique: [["number"]],
    indexes: [["chain_id", "kind"]],
  });

export const down: Migration = ({ context }) => dropTable(context, TABLE);
