import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, oneOf, reference, type Table, text } from "./table.ts";

export const TASK_KINDS = ["task", "context"] as const;

/** Something that an upstream works on beyond one call, or a conversation with it. Its id is the caller's handle. */
export interface UpstreamTaskRow {
  id: string;
  organizationId: string;
  connectionId: string;
  /** Key of the principal whose it is; nobody else finds it. */
  principalKey: string;
  kind: (typeof TASK_KINDS)[number];
  /** SHA-256 of connection, principal, kind and the upstream's own name. */
  identityHash: string;
  /** What the adapter needs to find it again. */
  sealedState: string;
  /** SHA-256 of the secret that the upstream shows when it tells that the task went on; null: it was given none. */
  secretHash: string | null;
  /** When the upstream told so last, since the secret was made. */
  toldAt: Date | null;
  createdAt: Date;
  expiresAt: Date;
}

export function defineUpstreamTasks(sequelize: Sequelize): Table<UpstreamTaskRow> {
  return defineTable<UpstreamTaskRow>(
    sequelize,
    "upstream_tasks",
    {
      id: id(),
      organizationId: reference(),
      connectionId: reference(),
      principalKey: digest(),
      kind: oneOf(TASK_KINDS),
      identityHash: digest(),
      sealedState: text(),
      secretHash: digest({ allowNull: true }),
      toldAt: moment({ allowNull: true }),
      createdAt: moment(),
      expiresAt: moment(),
    },
    [["identityHash"]],
  );
}
