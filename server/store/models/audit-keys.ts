import type { Sequelize } from "sequelize";
import { defineTable, id, moment, type Table, text } from "./table.ts";

/** A key that audit events and checkpoints are signed with. Normally there is one. */
export interface AuditKeyRow {
  id: string;
  sealedKey: string;
  createdAt: Date;
}

export function defineAuditKeys(sequelize: Sequelize): Table<AuditKeyRow> {
  return defineTable<AuditKeyRow>(sequelize, "audit_keys", { id: id(), sealedKey: text(), createdAt: moment() });
}
