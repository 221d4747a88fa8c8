import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, reference, string, type Table } from "./table.ts";

/** A named set of connections; what it serves is its published version. */
export interface EnvironmentRow {
  id: string;
  organizationId: string;
  slug: string;
  name: string;
  parentId: string | null;
  publishedVersionId: string | null;
  /** Since when edits wait in a draft until somebody publishes it; null: what is saved is served. */
  draftsSince: Date | null;
  /** SHA-256 of what the files said when they were last taken over; null: they never were. */
  filesDigest: string | null;
  /** Null: in use. The row stays, because others refer to it, and comes back with its slug. */
  retiredAt: Date | null;
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
      draftsSince: moment({ allowNull: true }),
      filesDigest: digest({ allowNull: true }),
      retiredAt: moment({ allowNull: true }),
    },
    [["organizationId", "slug"]],
  );
}
