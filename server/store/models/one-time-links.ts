import type { Sequelize } from "sequelize";
import { ROLES } from "./members.ts";
import { defineTable, digest, id, moment, oneOf, reference, type Table } from "./table.ts";

export const LINK_KINDS = ["setup", "invite", "reset"] as const;

/** A link that does one thing once. */
export interface OneTimeLinkRow {
  id: string;
  kind: (typeof LINK_KINDS)[number];
  /** SHA-256 of the part of the URL that is secret. */
  hash: string;
  organizationId: string;
  /** What whoever opens it becomes in the organization. */
  role: (typeof ROLES)[number];
  /** Whom it is for, where that person exists already. */
  personId: string | null;
  createdAt: Date;
  expiresAt: Date;
  usedAt: Date | null;
}

export function defineOneTimeLinks(sequelize: Sequelize): Table<OneTimeLinkRow> {
  return defineTable<OneTimeLinkRow>(
    sequelize,
    "one_time_links",
    {
      id: id(),
      kind: oneOf(LINK_KINDS),
      hash: digest(),
      organizationId: reference(),
      role: oneOf(ROLES),
      personId: reference({ allowNull: true }),
      createdAt: moment(),
      expiresAt: moment(),
      usedAt: moment({ allowNull: true }),
    },
    [["hash"]],
  );
}
