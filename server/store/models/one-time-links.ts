import type { Sequelize } from "sequelize";
import { ROLES } from "./members.ts";
import { defineTable, digest, id, json, moment, oneOf, reference, string, type Table } from "./table.ts";

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
  /** The name that the form of an invitation begins with; null: none. */
  name: string | null;
  /** Groups that whoever takes an invitation is put in. */
  memberGroups: string[] | null;
  /** Name of who made it; null: made before this was kept. */
  createdBy: string | null;
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
      name: string(128, { allowNull: true }),
      memberGroups: json("memberGroups", { allowNull: true }),
      createdBy: string(255, { allowNull: true }),
      createdAt: moment(),
      expiresAt: moment(),
      usedAt: moment({ allowNull: true }),
    },
    [["hash"]],
  );
}
