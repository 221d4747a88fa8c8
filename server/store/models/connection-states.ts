import type { Sequelize } from "sequelize";
import type { AdapterMemory, Introduction } from "../../../adapters/contract.ts";
import { defineTable, json, moment, oneOf, reference, string, type Table, text } from "./table.ts";

export const HEALTHS = ["healthy", "unhealthy", "untested", "configured"] as const;

/** What was last seen of a connection's upstream. One row per connection, independent of versions. */
export interface ConnectionStateRow {
  connectionId: string;
  health: (typeof HEALTHS)[number];
  healthCode: string | null;
  healthMessage: string | null;
  checkedAt: Date | null;
  catalogueAt: Date | null;
  /** A ULID that changes whenever the stored catalogue does. */
  catalogueRevision: string | null;
  loadErrorCode: string | null;
  loadErrorMessage: string | null;
  loadErrorAt: Date | null;
  introduction: Introduction | null;
  memory: AdapterMemory | null;
}

export function defineConnectionStates(sequelize: Sequelize): Table<ConnectionStateRow> {
  return defineTable<ConnectionStateRow>(sequelize, "connection_states", {
    connectionId: { ...reference(), primaryKey: true },
    health: oneOf(HEALTHS),
    healthCode: string(64, { allowNull: true }),
    healthMessage: text({ allowNull: true }),
    checkedAt: moment({ allowNull: true }),
    catalogueAt: moment({ allowNull: true }),
    catalogueRevision: reference({ allowNull: true }),
    loadErrorCode: string(64, { allowNull: true }),
    loadErrorMessage: text({ allowNull: true }),
    loadErrorAt: moment({ allowNull: true }),
    introduction: json("introduction", { allowNull: true }),
    memory: json("memory", { allowNull: true }),
  });
}
