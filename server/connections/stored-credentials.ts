/**
 * The organization's credentials: a name, and values that only the vault can open.
 *
 * A credential is looked up by its name at the moment of use. What was looked up stays in memory as it is sealed,
 * until the bus says that the credential changed, and no longer than half a minute.
 */
import { Transaction } from "sequelize";
import { ulid } from "ulid";
import { JackfieldError } from "../errors.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { CREDENTIAL_KINDS, CredentialRow } from "../store/models/credentials.ts";
import type { SealedSecrets, Vault } from "../vault/contract.ts";
import { SealError } from "../vault/seal.ts";

const TOPIC = "credentials";
/** How long a lost message can keep an old value alive. */
const REMEMBERED_MS = 30_000;
const MOST_REMEMBERED = 10_000;
export const LONGEST_SECRET = 65_536;

export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** What may be told of a credential. */
export interface CredentialSummary {
  id: string;
  name: string;
  kind: CredentialKind;
  /** Names of the fields that have a value, sorted. */
  fields: string[];
  revision: string;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface NewValues {
  organizationId: string;
  name: string;
  /** By field; what is not named keeps its value. */
  values: Readonly<Record<string, string>>;
  /** Who does this, for the record of a new credential. */
  by: string;
}

/** A credential at the moment of use. */
export interface OpenCredential {
  readonly id: string;
  readonly kind: CredentialKind;
  readonly revision: string;
  /** Names of the fields that have a value. */
  readonly fields: readonly string[];
  /** The value of a field; undefined where it has none. @throws JackfieldError `credential_unreadable` */
  value(field: string): string | undefined;
}

export interface StoredCredentials {
  /**
   * Stores values, making the credential where there is none of that name.
   * @throws JackfieldError `invalid_credential` for a name, field or value that cannot be, or fields of another kind
   */
  set(values: NewValues): Promise<{ id: string; revision: string; created: boolean }>;
  list(organizationId: string): Promise<CredentialSummary[]>;
  /** Deletes a credential and its values. False where there is none. */
  delete(organizationId: string, name: string): Promise<boolean>;
  /** @param fresh looks past what is remembered, e.g. because the service refused that */
  find(organizationId: string, name: string, options?: { fresh?: boolean }): Promise<OpenCredential | undefined>;
  /** A name that is free: this one, or with the lowest number behind it. */
  freeName(organizationId: string, name: string): Promise<string>;
  close(): void;
}

export interface StoredCredentialsOptions {
  store: Store;
  vault: Vault;
  bus: Bus;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

interface Remembered {
  readonly credential: OpenCredential | undefined;
  readonly until: number;
}

export const CREDENTIAL_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const FIELD = /^[a-z][a-z0-9_]{0,63}$/;

export function createStoredCredentials({ store, vault, bus, clock }: StoredCredentialsOptions): StoredCredentials {
  const { credentials } = store.models;
  const remembered = new Map<string, Remembered>();
  /** Rises with every message, so that a look-up that began before one is not remembered after it. */
  let generation = 0;
  const unsubscribe = bus.subscribe(TOPIC, ({ organizationId, name }) => {
    generation += 1;
    if (typeof organizationId === "string" && typeof name === "string") remembered.delete(`${organizationId}|${name}`);
    else remembered.clear();
  });

  const look = async (organizationId: string, name: string): Promise<OpenCredential | undefined> => {
    const row = await credentials.findOne({ where: { organizationId, name } });
    return row === null ? undefined : openCredential(row, await vault.load(organizationId, row.id));
  };

  return {
    async set({ organizationId, name, values, by }) {
      checkNames(name, values);
      const revision = ulid(clock());
      const now = new Date(clock());
      const result = await store.transaction(async (transaction) => {
        const where = { organizationId, name };
        const defaults = { ...where, kind: kindOf(Object.keys(values)), revision, createdBy: by.slice(0, 255) };
        const [row, created] = await credentials.findOrCreate({
          where,
          defaults: { ...defaults, createdAt: now, updatedAt: now },
          transaction,
        });
        // Two who set the same credential write one after the other.
        await row.reload({ transaction, lock: Transaction.LOCK.UPDATE });
        if (row.kind !== defaults.kind) throw otherKind(name, row.kind, defaults.kind);
        if (!created) await row.update({ revision, updatedAt: now }, { transaction });
        for (const [field, value] of Object.entries(values)) {
          await vault.put({ organizationId, owner: row.id, field }, value, transaction);
        }
        return { id: row.id, revision, created };
      });
      await bus.publish(TOPIC, { organizationId, name });
      return result;
    },
    async list(organizationId) {
      const rows = await credentials.findAll({ where: { organizationId }, order: [["name", "ASC"]] });
      return Promise.all(
        rows.map(async ({ id, name, kind, revision, createdBy, createdAt, updatedAt }) => {
          const fields = await vault.fields(id);
          return { id, name, kind, fields, revision, createdBy, createdAt, updatedAt };
        }),
      );
    },
    async delete(organizationId, name) {
      const deleted = await store.transaction(async (transaction) => {
        const row = await credentials.findOne({ where: { organizationId, name }, transaction });
        if (row === null) return false;
        await row.destroy({ transaction });
        await vault.delete(row.id, transaction);
        return true;
      });
      if (deleted) await bus.publish(TOPIC, { organizationId, name });
      return deleted;
    },
    async find(organizationId, name, { fresh = false } = {}) {
      const key = `${organizationId}|${name}`;
      const known = remembered.get(key);
      if (!fresh && known !== undefined && clock() < known.until) return known.credential;
      const before = generation;
      const credential = await look(organizationId, name);
      if (generation === before) {
        if (remembered.size >= MOST_REMEMBERED) remembered.clear();
        remembered.set(key, { credential, until: clock() + REMEMBERED_MS });
      }
      return credential;
    },
    async freeName(organizationId, name) {
      const taken = new Set((await credentials.findAll({ where: { organizationId } })).map((row) => row.name));
      for (let number = 2, free = name; ; number += 1) {
        if (!taken.has(free)) return free;
        free = `${name.slice(0, 58)}-${number}`;
      }
    },
    close() {
      unsubscribe();
      remembered.clear();
    },
  };
}

function openCredential({ id, name, kind, revision }: CredentialRow, secrets: SealedSecrets): OpenCredential {
  return {
    id,
    kind,
    revision,
    fields: secrets.fields,
    value(field) {
      try {
        return secrets.open(field);
      } catch (cause) {
        if (!(cause instanceof SealError)) throw cause;
        throw new JackfieldError("credential_unreadable", {
          detail: `credential ${name}, ${field}: ${cause.message}`,
          cause,
        });
      }
    },
  };
}

/** The kind that fields make together; undefined where they belong to different ones. */
function kindOf(fields: readonly string[]): CredentialKind {
  const kinds = new Set(fields.map(kindOfField));
  const [kind] = kinds;
  if (kinds.size === 1 && kind !== undefined) return kind;
  throw invalid(`${fields.join(" and ")} do not belong to one credential.`);
}

function kindOfField(field: string): CredentialKind {
  if (field === "secret") return "secret";
  return ["client_id", "client_secret", "private_key"].includes(field) ? "client" : "fields";
}

function checkNames(name: string, values: Readonly<Record<string, string>>): void {
  if (!CREDENTIAL_NAME.test(name)) {
    throw invalid("A credential is named with at most 64 lower-case letters, digits and -, a letter first.");
  }
  for (const [field, value] of Object.entries(values)) {
    if (!FIELD.test(field)) {
      throw invalid("A field is named with at most 64 lower-case letters, digits and _, a letter first.");
    }
    if (value === "") throw invalid(`The value of ${field} is empty.`);
    if (value.length > LONGEST_SECRET) throw invalid(`The value of ${field} is longer than ${LONGEST_SECRET}.`);
  }
}

function otherKind(name: string, is: CredentialKind, asked: CredentialKind): JackfieldError {
  const words = { secret: "one secret", client: "an OAuth client", fields: "named fields" };
  return invalid(`${name} holds ${words[is]}, not ${words[asked]}. Delete it first, or choose another name.`);
}

function invalid(text: string): JackfieldError {
  return new JackfieldError("invalid_credential", { text });
}
