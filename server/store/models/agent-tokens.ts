import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, json, moment, reference, string, type Table } from "./table.ts";

/** A bearer token of an agent, or of a person for their own programs. Only its hash is kept. */
export interface AgentTokenRow {
  id: string;
  organizationId: string;
  agentId: string;
  name: string;
  /** SHA-256 of the whole token: 256 bits of randomness need neither salt nor stretching. */
  hash: string;
  /** The token's last four characters, to tell tokens apart in lists. */
  last4: string;
  /** Space-separated. */
  scopes: string;
  /** What it may at `/api`, space-separated; null: nothing. */
  permissions: string | null;
  endpointIds: string[];
  variables: Record<string, string>;
  /** CIDRs the token may come from; null: anywhere. */
  allowedNetworks: string[] | null;
  expiresAt: Date | null;
  createdBy: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  lastUsedIp: string | null;
  revokedAt: Date | null;
  /** The token this one succeeds. */
  rotatedFrom: string | null;
  /** When it got a successor; it ends with the overlap. */
  rotatedAt: Date | null;
  /** The person whose own it is; null: an agent's. */
  personId: string | null;
  /** The person who made it; null: the operator, at the command line. */
  creatorId: string | null;
  /** 1 where it sees the drafts of environments; null: what is published. */
  testing: number | null;
}

export function defineAgentTokens(sequelize: Sequelize): Table<AgentTokenRow> {
  return defineTable<AgentTokenRow>(
    sequelize,
    "agent_tokens",
    {
      id: id(),
      organizationId: reference(),
      agentId: reference(),
      name: string(128),
      hash: digest(),
      last4: string(4),
      scopes: string(255),
      permissions: string(255, { allowNull: true }),
      endpointIds: json("endpointIds"),
      variables: json("variables"),
      allowedNetworks: json("allowedNetworks", { allowNull: true }),
      expiresAt: moment({ allowNull: true }),
      createdBy: string(255),
      createdAt: moment(),
      lastUsedAt: moment({ allowNull: true }),
      lastUsedIp: string(45, { allowNull: true }),
      revokedAt: moment({ allowNull: true }),
      rotatedFrom: reference({ allowNull: true }),
      rotatedAt: moment({ allowNull: true }),
      personId: reference({ allowNull: true }),
      creatorId: reference({ allowNull: true }),
      testing: integer({ allowNull: true }),
    },
    [["hash"]],
  );
}
