import { DataTypes, type Sequelize } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { defineTable, json, moment, reference, string, type Table } from "./table.ts";

/** A bus message on its way to other processes that use the same database without Redis. Pruned after minutes. */
export interface ChangeRow {
  id: number;
  /** The process that wrote it, which has delivered it to itself already. */
  origin: string;
  topic: string;
  payload: JsonObject;
  at: Date;
}

export function defineChanges(sequelize: Sequelize): Table<ChangeRow> {
  return defineTable<ChangeRow>(sequelize, "changes", {
    id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
    origin: reference(),
    topic: string(32),
    payload: json("payload"),
    at: moment(),
  });
}
