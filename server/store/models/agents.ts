import type { Sequelize } from "sequelize";
import { defineTable, id, reference, string, type Table } from "./table.ts";

/** A program that calls with a bearer token. Its id is the subject of its principal, stable over its tokens. */
export interface AgentRow {
  id: string;
  organizationId: string;
  name: string;
  /** The member whose own it is; null: the organization's. */
  personId: string | null;
}

export function defineAgents(sequelize: Sequelize): Table<AgentRow> {
  return defineTable<AgentRow>(
    sequelize,
    "agents",
    { id: id(), organizationId: reference(), name: string(128), personId: reference({ allowNull: true }) },
    [["organizationId", "name"]],
  );
}
