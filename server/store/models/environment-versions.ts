import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, json, moment, oneOf, reference, string, type Table } from "./table.ts";

export const VERSION_STATES = ["draft", "published", "superseded"] as const;

/** One state of an environment's configuration. Rows of connections and endpoints hang on it. */
export interface EnvironmentVersionRow {
  id: string;
  environmentId: string;
  /** Counts up from 1 within the environment. */
  number: number;
  state: (typeof VERSION_STATES)[number];
  /** SHA-256 of the content, so that publishing the same again changes nothing. */
  digest: string;
  /** Policy entries that nothing in the environment may do (design section 7, `tools.forbid`). */
  forbid: unknown;
  author: string;
  createdAt: Date;
  publishedAt: Date | null;
}

export function defineEnvironmentVersions(sequelize: Sequelize): Table<EnvironmentVersionRow> {
  return defineTable<EnvironmentVersionRow>(
    sequelize,
    "environment_versions",
    {
      id: id(),
      environmentId: reference(),
      number: integer(),
      state: oneOf(VERSION_STATES),
      digest: digest(),
      forbid: json("forbid", { allowNull: true }),
      author: string(255),
      createdAt: moment(),
      publishedAt: moment({ allowNull: true }),
    },
    [["environmentId", "number"]],
  );
}
