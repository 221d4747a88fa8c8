import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, moment, oneOf, reference, string, type Table } from "./table.ts";

/** `writing`: its content is on its way, or the process died meanwhile. */
export const ASSET_STATES = ["writing", "ready"] as const;

/** A kept file; its content is in the storage under `<organization>/<id>`. */
export interface AssetRow {
  id: string;
  /** What follows `asset://`. */
  handle: string;
  organizationId: string;
  environmentId: string;
  principalKey: string;
  /** The connection it came from, where it came from one. */
  connectionId: string | null;
  state: (typeof ASSET_STATES)[number];
  /** SHA-256 in hexadecimal; null while it is written. */
  digest: string | null;
  /** Bytes. */
  size: number;
  type: string;
  name: string;
  createdAt: Date;
  expiresAt: Date;
}

export function defineAssets(sequelize: Sequelize): Table<AssetRow> {
  return defineTable<AssetRow>(
    sequelize,
    "assets",
    {
      id: id(),
      handle: string(32),
      organizationId: reference(),
      environmentId: reference(),
      principalKey: digest(),
      connectionId: reference({ allowNull: true }),
      state: oneOf(ASSET_STATES),
      digest: digest({ allowNull: true }),
      size: integer(),
      type: string(255),
      name: string(255),
      createdAt: moment(),
      expiresAt: moment(),
    },
    [["handle"]],
  );
}
