import type { Transaction } from "sequelize";
import type { Store } from "../store/database.ts";

type Identities = Store["models"]["connections"] | Store["models"]["endpoints"];

/** The id of a connection or endpoint of this slug: the one it ever had, so that what refers to it stays. */
export async function identityOf(
  table: Identities,
  environmentId: string,
  slug: string,
  transaction: Transaction,
): Promise<string> {
  const where = { environmentId, slug };
  const known = await table.findOne({ where, transaction });
  return known === null ? (await table.create(where, { transaction })).id : known.id;
}
