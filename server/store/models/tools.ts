import type { Sequelize } from "sequelize";
import type { ToolDefinition } from "../../../adapters/contract.ts";
import { defineTable, digest, id, integer, json, moment, oneOf, reference, string, type Table, text } from "./table.ts";

export const TOOL_STATES = ["pending", "approved", "changed", "gone"] as const;

/** One tool of a connection, with the definition last seen and the one a person accepted. */
export interface ToolRow {
  id: string;
  connectionId: string;
  /** SHA-256 of the upstream name, which has no length limit and may differ in case only. */
  upstreamKey: string;
  upstreamName: string;
  /** The public name, `<connection>__<action>`; never changes once given. */
  name: string;
  /** `name` with `-` folded to `_`: names must differ in more than that. */
  nameKey: string;
  /** Order in which the upstream lists its tools. */
  position: number;
  definition: ToolDefinition;
  hash: string;
  reviewedDefinition: ToolDefinition | null;
  reviewedHash: string | null;
  state: (typeof TOOL_STATES)[number];
  reviewedBy: string | null;
  reviewedAt: Date | null;
  /** What cleaning found and removed, for the reviewer. */
  findings: unknown;
  firstSeenAt: Date;
  lastSeenAt: Date;
}

export function defineTools(sequelize: Sequelize): Table<ToolRow> {
  return defineTable<ToolRow>(
    sequelize,
    "tools",
    {
      id: id(),
      connectionId: reference(),
      upstreamKey: digest(),
      upstreamName: text(),
      name: string(48),
      nameKey: string(48),
      position: integer(),
      definition: json("definition"),
      hash: digest(),
      reviewedDefinition: json("reviewedDefinition", { allowNull: true }),
      reviewedHash: digest({ allowNull: true }),
      state: oneOf(TOOL_STATES),
      reviewedBy: string(255, { allowNull: true }),
      reviewedAt: moment({ allowNull: true }),
      findings: json("findings", { allowNull: true }),
      firstSeenAt: moment(),
      lastSeenAt: moment(),
    },
    [
      ["connectionId", "upstreamKey"],
      ["connectionId", "nameKey"],
    ],
  );
}
