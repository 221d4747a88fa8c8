import type { Sequelize } from "sequelize";
import { defineTable, id, reference, string, type Table } from "./table.ts";

/** A named set of connections; what it serves is its published version. */
export interface EnvironmentRow {
  id: string;
  organizationId: string;
  slug: string;
  name: string;
  parentId: string | null;
  publishedVersionId: string | null;
}

export function defineEnvironments(sequelize: Sequelize): Table<EnvironmentRow> {
  return defineTable<EnvironmentRow>(
    sequelize,
    "environments",
    {
      id: id(),
      organizationId: reference(),
      slug: string(64),
      name: string(255),
      parentId: reference({ allowNull: true }),
      publishedVersionId: reference({ allowNull: true }),
    },
    [["organizationId", "slug"]],
  );
}
