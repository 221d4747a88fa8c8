/**
 * Where secrets are kept. What is handed to a store is sealed already, and what it gives back is opened in memory at
 * the moment of use only. One suite (`test/contract/vault.ts`) runs against the vault on each store.
 */
import type { Transaction } from "sequelize";

/** One secret: a field of something that belongs to an organization. */
export interface SecretRef {
  readonly organizationId: string;
  /** Id (ULID) of what it belongs to, e.g. of a credential. */
  readonly owner: string;
  /** At most 64 characters of `a-z`, `0-9` and `_`. */
  readonly field: string;
}

/** The secrets of one owner, still sealed; it may be kept in memory. */
export interface SealedSecrets {
  readonly fields: readonly string[];
  /** The secret itself, undefined where there is none. Throws `SealError`. */
  open(field: string): string | undefined;
}

/** What became of sealed values under the newest key. */
export interface Resealed {
  /** Sealed again with the newest key. */
  resealed: number;
  /** Sealed with it already. */
  current: number;
  /** Sealed with a key that is not here, or damaged; left as they are. */
  unreadable: number;
}

export interface Vault {
  /** Stores a secret in place of the one before. */
  put(ref: SecretRef, value: string, transaction?: Transaction): Promise<void>;
  /** Undefined where there is none. Throws `SealError` where it cannot be opened. */
  read(ref: SecretRef): Promise<string | undefined>;
  /** All secrets of an owner at once. */
  load(organizationId: string, owner: string): Promise<SealedSecrets>;
  /** Removes every secret of an owner. */
  delete(owner: string, transaction?: Transaction): Promise<void>;
  /** Names of the fields that an owner has a secret for, sorted. */
  fields(owner: string): Promise<string[]>;
  /** Seals everything with the newest key that is not yet. A value that changes meanwhile wins. */
  reseal(): Promise<Resealed>;
}

/** Given a sealed text and what it is sealed to, the text to store in its place; undefined leaves it. */
export type Change = (sealed: string, aad: string) => string | undefined;

/** A store of sealed texts. Only the vault uses it. */
export interface SecretStore {
  /**
   * Where the store is the database, it takes part in the transaction; another one acts at once, so it is called
   * last in one that may still be undone.
   */
  write(ref: SecretRef, sealed: string, transaction?: Transaction): Promise<void>;
  read(owner: string): Promise<ReadonlyMap<string, string>>;
  delete(owner: string, transaction?: Transaction): Promise<void>;
  /** Hands every sealed text to `change` and stores what it returns; a text that changed meanwhile stays. */
  rewrite(change: Change): Promise<void>;
}
