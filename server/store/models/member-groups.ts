import type { Sequelize } from "sequelize";
import { defineTable, id, reference, string, type Table } from "./table.ts";

/** That a member of an organization is in one of its groups. */
export interface MemberGroupRow {
  id: string;
  organizationId: string;
  personId: string;
  name: string;
  /** Id of the sign-in provider whose claims say so; empty: somebody put them in by hand. */
  source: string;
}

export function defineMemberGroups(sequelize: Sequelize): Table<MemberGroupRow> {
  return defineTable<MemberGroupRow>(
    sequelize,
    "member_groups",
    { id: id(), organizationId: reference(), personId: reference(), name: string(128), source: string(64) },
    [["organizationId", "personId", "source", "name"]],
  );
}
