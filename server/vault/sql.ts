/** Sealed secrets in the database: the default. */
import { UniqueConstraintError } from "sequelize";
import type { Store } from "../store/database.ts";
import type { SecretRow } from "../store/models/secrets.ts";
import type { SecretStore } from "./contract.ts";
import { sealedColumn, secretAad } from "./reseal.ts";

export const SECRETS_COLUMN = sealedColumn<SecretRow>((models) => models.secrets, "sealed", secretAad);

export function createSqlSecrets(store: Store): SecretStore {
  const { secrets } = store.models;
  return {
    async write({ organizationId, owner, field }, sealed, transaction) {
      const options = transaction === undefined ? {} : { transaction };
      const where = { organizationId, owner, field };
      const [changed] = await secrets.update({ sealed }, { where, ...options });
      if (changed > 0) return;
      try {
        await secrets.create({ ...where, sealed }, options);
      } catch (error) {
        if (!(error instanceof UniqueConstraintError)) throw error;
        // Another process made the row in between; the later value stays.
        await secrets.update({ sealed }, { where, ...options });
      }
    },
    async read(owner) {
      const rows = await secrets.findAll({ where: { owner } });
      return new Map(rows.map((row) => [row.field, row.sealed]));
    },
    async delete(owner, transaction) {
      await secrets.destroy({ where: { owner }, ...(transaction === undefined ? {} : { transaction }) });
    },
    async rewrite(change) {
      await SECRETS_COLUMN.rewrite(store, change);
    },
  };
}
