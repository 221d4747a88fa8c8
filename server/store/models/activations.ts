import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, reference, string, type Table } from "./table.ts";

/** A tool that `tool_search` put on a caller's list at an endpoint. */
export interface ActivationRow {
  id: string;
  endpointId: string;
  /** Whose list it is: principal and client. */
  holderKey: string;
  toolName: string;
  activatedAt: Date;
  lastUsedAt: Date;
}

export function defineActivations(sequelize: Sequelize): Table<ActivationRow> {
  return defineTable<ActivationRow>(
    sequelize,
    "activations",
    {
      id: id(),
      endpointId: reference(),
      holderKey: digest(),
      toolName: string(48),
      activatedAt: moment(),
      lastUsedAt: moment(),
    },
    [["endpointId", "holderKey", "toolName"]],
  );
}
