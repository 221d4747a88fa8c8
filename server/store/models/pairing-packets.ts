import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, oneOf, reference, type Table } from "./table.ts";

/** `claimed`: sent, or about to be; it stays so where the process died meanwhile. `unknown`: no answer came. */
export const PACKET_STATES = ["claimed", "redeemed", "refused", "unknown"] as const;

/** A one-time pairing packet that was used. Never the packet itself. */
export interface PairingPacketRow {
  id: string;
  organizationId: string;
  /** HMAC of what is unique in the packet: who has the database cannot try claims against it. */
  packetHash: string;
  connectionId: string;
  /** Key of the principal that used it. */
  principalKey: string;
  state: (typeof PACKET_STATES)[number];
  createdAt: Date;
}

export function definePairingPackets(sequelize: Sequelize): Table<PairingPacketRow> {
  return defineTable<PairingPacketRow>(
    sequelize,
    "pairing_packets",
    {
      id: id(),
      organizationId: reference(),
      packetHash: digest(),
      connectionId: reference(),
      principalKey: digest(),
      state: oneOf(PACKET_STATES),
      createdAt: moment(),
    },
    [["packetHash"]],
  );
}
