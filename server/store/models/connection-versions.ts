import type { Sequelize } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { defineTable, id, json, oneOf, reference, string, type Table } from "./table.ts";

export const ORIGINS = ["file", "web"] as const;

/** How a connection is configured in one version of its environment. Never holds a secret. */
export interface ConnectionVersionRow {
  id: string;
  versionId: string;
  connectionId: string;
  type: string;
  label: string;
  config: JsonObject;
  origin: (typeof ORIGINS)[number];
  /** File name within the config directory, where `origin` is `file`. */
  source: string | null;
}

export function defineConnectionVersions(sequelize: Sequelize): Table<ConnectionVersionRow> {
  return defineTable<ConnectionVersionRow>(
    sequelize,
    "connection_versions",
    {
      id: id(),
      versionId: reference(),
      connectionId: reference(),
      type: string(16),
      label: string(255),
      config: json("config"),
      origin: oneOf(ORIGINS),
      source: string(255, { allowNull: true }),
    },
    [["versionId", "connectionId"]],
  );
}
