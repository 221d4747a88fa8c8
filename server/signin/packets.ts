/** Which pairing packets were used. Only keyed digests are kept; a packet is claimed before anything of it is sent. */
import { createHmac } from "node:crypto";
import { UniqueConstraintError } from "sequelize";
import type { Store } from "../store/database.ts";
import type { PairingPacketRow } from "../store/models/pairing-packets.ts";
import type { Keyring } from "../vault/keyring.ts";

const LABEL = "pairing/packets";

export interface PacketUse {
  readonly organizationId: string;
  readonly connectionId: string;
  readonly principalKey: string;
}

/** A packet that is ours alone to redeem. */
export interface PacketClaim {
  /** Notes how it ended. */
  settle(state: Exclude<PairingPacketRow["state"], "claimed">): Promise<void>;
  /** Nothing was sent: the packet may be tried again. */
  release(): Promise<void>;
}

export interface Packets {
  /** Takes a packet; undefined where it was taken before, here or by another process. */
  claim(secret: string, use: PacketUse): Promise<PacketClaim | undefined>;
  /** HMAC-SHA-256 of a text in hexadecimal, under the key of the packets: stands for it in the audit. */
  digest(text: string): string;
}

export interface PacketsOptions {
  store: Store;
  keyring: Keyring;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

/** Makes the register of used packets. */
export function createPackets({ store, keyring, clock }: PacketsOptions): Packets {
  const { pairingPackets } = store.models;
  const digest = (text: string, key = keyring.deriveKey(LABEL)) => createHmac("sha256", key).update(text).digest("hex");

  return {
    digest: (text) => digest(text),
    async claim(secret, use) {
      // A packet that was used before the master key was changed stands under the older one.
      const older = keyring.keyIds.slice(1).flatMap((keyId) => keyring.keyOf(keyId, LABEL) ?? []);
      const before = older.map((key) => digest(secret, key));
      if (before.length > 0 && (await pairingPackets.count({ where: { packetHash: before } })) > 0) return undefined;
      const row = await insert({ ...use, packetHash: digest(secret), state: "claimed", createdAt: new Date(clock()) });
      if (row === undefined) return undefined;
      const where = { id: row.id, state: "claimed" as const };
      return {
        async settle(state) {
          await pairingPackets.update({ state }, { where });
        },
        async release() {
          await pairingPackets.destroy({ where });
        },
      };
    },
  };

  /** The unique hash decides among all processes who was first. */
  async function insert(row: Omit<PairingPacketRow, "id">): Promise<PairingPacketRow | undefined> {
    try {
      return await store.transaction((transaction) => pairingPackets.create(row, { transaction }));
    } catch (error) {
      if (error instanceof UniqueConstraintError) return undefined;
      throw error;
    }
  }
}
