import type { Sequelize } from "sequelize";
import type { CatalogueItem } from "../../../adapters/contract.ts";
import { defineTable, digest, id, integer, json, oneOf, reference, type Table } from "./table.ts";

export const ITEM_KINDS = ["prompt", "resource", "template"] as const;

/** A prompt, resource or resource template of a connection, as last seen. */
export interface CatalogueItemRow {
  id: string;
  connectionId: string;
  kind: (typeof ITEM_KINDS)[number];
  position: number;
  /** SHA-256 of the name (prompts) or URI (resources, templates). */
  itemKey: string;
  definition: CatalogueItem;
}

export function defineCatalogueItems(sequelize: Sequelize): Table<CatalogueItemRow> {
  return defineTable<CatalogueItemRow>(
    sequelize,
    "catalogue_items",
    {
      id: id(),
      connectionId: reference(),
      kind: oneOf(ITEM_KINDS),
      position: integer(),
      itemKey: digest(),
      definition: json("definition"),
    },
    [["connectionId", "kind", "itemKey"]],
  );
}
