import type { Sequelize } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { ORIGINS } from "./connection-versions.ts";
import { defineTable, id, json, oneOf, reference, string, type Table } from "./table.ts";

/** How an endpoint is configured in one version of its environment. */
export interface EndpointVersionRow {
  id: string;
  versionId: string;
  endpointId: string;
  label: string;
  config: JsonObject;
  origin: (typeof ORIGINS)[number];
  source: string | null;
}

export function defineEndpointVersions(sequelize: Sequelize): Table<EndpointVersionRow> {
  return defineTable<EndpointVersionRow>(
    sequelize,
    "endpoint_versions",
    {
      id: id(),
      versionId: reference(),
      endpointId: reference(),
      label: string(255),
      config: json("config"),
      origin: oneOf(ORIGINS),
      source: string(255, { allowNull: true }),
    },
    [["versionId", "endpointId"]],
  );
}
