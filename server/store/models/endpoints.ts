import type { Sequelize } from "sequelize";
import { defineTable, id, reference, string, type Table } from "./table.ts";

/** The identity of an incoming MCP endpoint, stable over versions. */
export interface EndpointRow {
  id: string;
  environmentId: string;
  slug: string;
}

export function defineEndpoints(sequelize: Sequelize): Table<EndpointRow> {
  return defineTable<EndpointRow>(sequelize, "endpoints", { id: id(), environmentId: reference(), slug: string(64) }, [
    ["environmentId", "slug"],
  ]);
}
