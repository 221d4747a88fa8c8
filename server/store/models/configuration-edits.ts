import type { Sequelize } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { defineTable, id, json, moment, oneOf, reference, string, type Table } from "./table.ts";

export const EDITED = ["connection", "endpoint", "environment"] as const;

/** One change of a connection, an endpoint or an environment's own settings, whoever made it. Never holds a secret. */
export interface ConfigurationEditRow {
  /** Counts up with time. */
  id: string;
  environmentId: string;
  kind: (typeof EDITED)[number];
  /** Of the connection or endpoint; of the environment itself. */
  slug: string;
  author: string;
  at: Date;
  /** The configuration; null: there was none, or is none any more. */
  before: JsonObject | null;
  after: JsonObject | null;
}

export function defineConfigurationEdits(sequelize: Sequelize): Table<ConfigurationEditRow> {
  return defineTable<ConfigurationEditRow>(sequelize, "configuration_edits", {
    id: id(),
    environmentId: reference(),
    kind: oneOf(EDITED),
    slug: string(64),
    author: string(255),
    at: moment(),
    before: json("before", { allowNull: true }),
    after: json("after", { allowNull: true }),
  });
}
