import type { Sequelize } from "sequelize";
import { defineTable, id, reference, string, type Table, text } from "./table.ts";

/** One sealed value of the vault. What it is sealed to: `secretAad` in `vault/reseal.ts`. */
export interface SecretRow {
  id: string;
  organizationId: string;
  /** Id of the row it belongs to, e.g. of a credential. */
  owner: string;
  field: string;
  sealed: string;
}

export function defineSecrets(sequelize: Sequelize): Table<SecretRow> {
  return defineTable<SecretRow>(
    sequelize,
    "secrets",
    { id: id(), organizationId: reference(), owner: reference(), field: string(64), sealed: text() },
    [["owner", "field"]],
  );
}
