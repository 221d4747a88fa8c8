import type { Sequelize } from "sequelize";
import type { JsonObject } from "../../../adapters/contract.ts";
import { defineTable, digest, id, json, moment, reference, string, type Table } from "./table.ts";

/** A legacy MCP session, so that it survives a restart and any replica can serve it. */
export interface McpSessionRow {
  id: string;
  /** SHA-256 of `Mcp-Session-Id`. */
  sessionHash: string;
  organizationId: string;
  endpointId: string;
  /** The only principal and client that may use it. */
  principalKey: string;
  clientKey: string;
  protocolVersion: string;
  /** Parameters of the client's `initialize`. */
  initialize: JsonObject;
  logLevel: string | null;
  subscriptions: string[] | null;
  createdAt: Date;
  lastSeenAt: Date;
  closedAt: Date | null;
}

export function defineMcpSessions(sequelize: Sequelize): Table<McpSessionRow> {
  return defineTable<McpSessionRow>(
    sequelize,
    "mcp_sessions",
    {
      id: id(),
      sessionHash: digest(),
      organizationId: reference(),
      endpointId: reference(),
      principalKey: digest(),
      clientKey: digest(),
      protocolVersion: string(16),
      initialize: json("initialize"),
      logLevel: string(16, { allowNull: true }),
      subscriptions: json("subscriptions", { allowNull: true }),
      createdAt: moment(),
      lastSeenAt: moment(),
      closedAt: moment({ allowNull: true }),
    },
    [["sessionHash"]],
  );
}
