import type { Sequelize } from "sequelize";
import { defineTable, id, reference, string, type Table } from "./table.ts";

/** The identity of a connection, stable over versions: its slug is fixed once created. */
export interface ConnectionRow {
  id: string;
  environmentId: string;
  slug: string;
}

export function defineConnections(sequelize: Sequelize): Table<ConnectionRow> {
  return defineTable<ConnectionRow>(
    sequelize,
    "connections",
    { id: id(), environmentId: reference(), slug: string(24) },
    [["environmentId", "slug"]],
  );
}
