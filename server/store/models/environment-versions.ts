import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, json, moment, oneOf, reference, string, type Table } from "./table.ts";

export const VERSION_STATES = ["draft", "published", "superseded"] as const;

/** One state of an environment's configuration. Rows of connections and endpoints hang on it. */
export interface EnvironmentVersionRow {
  id: string;
  environmentId: string;
  /** Counts up from 1 within the environment; 0 is its draft. */
  number: number;
  state: (typeof VERSION_STATES)[number];
  /** SHA-256 of the content, so that publishing the same again changes nothing. */
  digest: string;
  /** Policy entries that nothing in the environment may do (design section 7, `tools.forbid`). */
  forbid: unknown;
  /** Null in versions from before these could wait in a draft: then the environment's own row says them. */
  label: string | null;
  parentId: string | null;
  settingsOrigin: string | null;
  /** Why it was published, e.g. `rollback to 3`. */
  note: string | null;
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
      label: string(255, { allowNull: true }),
      parentId: reference({ allowNull: true }),
      settingsOrigin: string(8, { allowNull: true }),
      note: string(255, { allowNull: true }),
      author: string(255),
      createdAt: moment(),
      publishedAt: moment({ allowNull: true }),
    },
    [["environmentId", "number"]],
  );
}
