import type { Sequelize } from "sequelize";
import { defineTable, id, oneOf, reference, type Table } from "./table.ts";

export const ROLES = ["admin", "member"] as const;

/** That a person belongs to an organization. */
export interface MemberRow {
  id: string;
  organizationId: string;
  personId: string;
  role: (typeof ROLES)[number];
}

export function defineMembers(sequelize: Sequelize): Table<MemberRow> {
  return defineTable<MemberRow>(
    sequelize,
    "members",
    { id: id(), organizationId: reference(), personId: reference(), role: oneOf(ROLES) },
    [["organizationId", "personId"]],
  );
}
