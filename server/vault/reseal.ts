/** Seals again, with the newest master key, what an older one had sealed. */
import { col, Op, QueryTypes, where } from "sequelize";
import type { Store } from "../store/database.ts";
import type { Models } from "../store/models/index.ts";
import type { Table } from "../store/models/table.ts";
import type { Change, Resealed, SecretRef } from "./contract.ts";
import type { Keyring } from "./keyring.ts";
import { keyIdOf, open, SealError, seal } from "./seal.ts";

/** What a secret of the vault is sealed to. */
export function secretAad({ organizationId, owner, field }: SecretRef): string {
  return `${organizationId}|${owner}|${field}`;
}

export interface Resealer {
  readonly counts: Resealed;
  /** The text under the newest key; undefined where it is already, or cannot be opened. */
  readonly change: Change;
}

/** Counts what it did. */
export function createResealer(keyring: Keyring): Resealer {
  const counts: Resealed = { resealed: 0, current: 0, unreadable: 0 };
  return {
    counts,
    change(sealed, aad) {
      if (keyIdOf(sealed) === keyring.keyId) {
        counts.current += 1;
        return undefined;
      }
      try {
        const text = seal(keyring, open(keyring, sealed, aad), aad);
        counts.resealed += 1;
        return text;
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        counts.unreadable += 1;
        return undefined;
      }
    },
  };
}

/** A column of the database that holds sealed texts. Every one there is stands in `cli/sealed-columns.ts`. */
export interface SealedColumn {
  readonly attribute: string;
  tableName(store: Store): string;
  /** Hands every sealed text to `change` and stores what it returns; a text that changed meanwhile stays. */
  rewrite(store: Store, change: Change): Promise<void>;
}

const BATCH = 200;

/**
 * Describes a sealed column.
 * @param table its model
 * @param attribute by which the model calls it; the name begins with `sealed`
 * @param aad what a row's text is sealed to: the same function that is used where it is sealed
 */
export function sealedColumn<R extends { id: string }>(
  table: (models: Models) => Table<R>,
  attribute: keyof R & string,
  aad: (row: NoInfer<R>) => string,
): SealedColumn {
  return {
    attribute,
    tableName: (store) => String(table(store.models).getTableName()),
    async rewrite(store, change) {
      await rewriteColumn(store, table(store.models), attribute, aad, change);
    },
  };
}

async function rewriteColumn<R extends { id: string }>(
  store: Store,
  model: Table<R>,
  attribute: keyof R & string,
  aad: (row: R) => string,
  change: Change,
): Promise<void> {
  const column = `\`${underscored(attribute)}\``;
  const update = `UPDATE \`${model.getTableName()}\` SET ${column} = ? WHERE \`id\` = ? AND ${column} = ?`;
  for (let after = ""; ; ) {
    const rows = await model.findAll({
      where: where(col("id"), { [Op.gt]: after }),
      order: [["id", "ASC"]],
      limit: BATCH,
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
    const changes: string[][] = [];
    for (const row of rows) {
      const sealed = row.get(attribute);
      if (typeof sealed !== "string") continue;
      const text = change(sealed, aad(row));
      // The condition on the old text: a token that was refreshed in between stays.
      if (text !== undefined) changes.push([text, row.id, sealed]);
    }
    if (changes.length === 0) continue;
    await store.transaction(async (transaction) => {
      for (const replacements of changes) {
        await store.sequelize.query(update, { replacements, type: QueryTypes.UPDATE, transaction });
      }
    });
  }
}

/** How the models name columns (`underscored: true`). */
function underscored(attribute: string): string {
  return attribute.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
