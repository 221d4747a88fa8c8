/**
 * The key that audit events and checkpoints are signed with. It is random and lies in the database under the keyring's
 * seal, not derived from a master key: `vault rotate` seals it again, and what was signed years ago can still be
 * verified when the master key of then is gone.
 */
import { randomBytes } from "node:crypto";
import { ulid } from "ulid";
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { AuditKeyRow } from "../store/models/audit-keys.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, SealError, seal } from "../vault/seal.ts";

export interface AuditKey {
  readonly id: string;
  readonly key: Buffer;
}

const KEY_BYTES = 32;

/** What a key is sealed to. */
export function auditKeyAad({ id }: Pick<AuditKeyRow, "id">): string {
  return `audit-key|${id}`;
}

/** The key to sign with, made on first use. Two processes that start at once may make one each; both are good. */
export async function signingKey(store: Store, keyring: Keyring, log: Log): Promise<AuditKey> {
  const [newest] = [...(await openAuditKeys(store, keyring, log)).values()].slice(-1);
  if (newest !== undefined) return newest;
  const id = ulid();
  const key = randomBytes(KEY_BYTES);
  const sealedKey = seal(keyring, key.toString("base64url"), auditKeyAad({ id }));
  await store.models.auditKeys.create({ id, sealedKey, createdAt: new Date() });
  return { id, key };
}

/** Every key that the keyring opens, by id, the newest last. One that it does not open is logged. */
export async function openAuditKeys(store: Store, keyring: Keyring, log: Log): Promise<ReadonlyMap<string, AuditKey>> {
  const keys = new Map<string, AuditKey>();
  for (const row of await store.models.auditKeys.findAll({ order: [["id", "ASC"]] })) {
    const { id, sealedKey } = row;
    try {
      keys.set(id, { id, key: Buffer.from(open(keyring, sealedKey, auditKeyAad(row)), "base64url") });
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      log.error({ id, reason: error.message }, "a key of the audit cannot be opened");
    }
  }
  return keys;
}
