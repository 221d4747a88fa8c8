import type { Sequelize } from "sequelize";
import { defineTable, string, type Table, text } from "./table.ts";

/** A fact about this installation that no file says: `instance_id`, `first_organization_id`. */
export interface SettingRow {
  key: string;
  value: string;
}

export function defineSettings(sequelize: Sequelize): Table<SettingRow> {
  return defineTable<SettingRow>(sequelize, "settings", { key: { ...string(64), primaryKey: true }, value: text() });
}
