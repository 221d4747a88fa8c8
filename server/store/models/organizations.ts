import type { Sequelize } from "sequelize";
import { defineTable, id, string, type Table } from "./table.ts";

/** A tenant. */
export interface OrganizationRow {
  id: string;
  slug: string;
  name: string;
}

export function defineOrganizations(sequelize: Sequelize): Table<OrganizationRow> {
  return defineTable<OrganizationRow>(sequelize, "organizations", { id: id(), slug: string(64), name: string(255) }, [
    ["slug"],
  ]);
}
