import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, moment, oneOf, reference, type Table } from "./table.ts";

/**
 * `opened`: a process began a chain. `reached`: the chain had come this far. `closed`: it ends here. `cut`: its events
 * were removed by the retention. `trimmed`: the checkpoints before number `sequence` were removed.
 */
export const CHECKPOINT_KINDS = ["opened", "reached", "closed", "cut", "trimmed"] as const;

/** A signed line about a chain of audit events. Together they are a chain of their own, over all processes. */
export interface AuditCheckpointRow {
  id: string;
  /** Counted up from 1 without a gap. */
  number: number;
  kind: (typeof CHECKPOINT_KINDS)[number];
  /** Null where `trimmed`. */
  chainId: string | null;
  /** The chain's last link; `trimmed`: the number of the first checkpoint that was kept. */
  sequence: number;
  /** The hash of that link; `trimmed`: the signature before that checkpoint. */
  hash: string;
  at: Date;
  keyId: string;
  previousSignature: string;
  signature: string;
}

export function defineAuditCheckpoints(sequelize: Sequelize): Table<AuditCheckpointRow> {
  return defineTable<AuditCheckpointRow>(
    sequelize,
    "audit_checkpoints",
    {
      id: id(),
      number: integer(),
      kind: oneOf(CHECKPOINT_KINDS),
      chainId: reference({ allowNull: true }),
      sequence: integer(),
      hash: digest(),
      at: moment(),
      keyId: reference(),
      previousSignature: digest(),
      signature: digest(),
    },
    [["number"]],
  );
}
