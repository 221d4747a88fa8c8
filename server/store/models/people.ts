import type { Sequelize } from "sequelize";
import { defineTable, id, moment, string, type Table } from "./table.ts";

/** Someone who signs in to the pages. */
export interface PersonRow {
  id: string;
  /** Lower case ASCII; what is typed at sign-in. */
  username: string;
  name: string;
  email: string | null;
  /** PHC string of argon2id; null: cannot sign in with a password. */
  passwordHash: string | null;
  createdAt: Date;
  /** Since when the person may not sign in. */
  disabledAt: Date | null;
}

export function definePeople(sequelize: Sequelize): Table<PersonRow> {
  return defineTable<PersonRow>(
    sequelize,
    "people",
    {
      id: id(),
      username: string(128),
      name: string(128),
      email: string(255, { allowNull: true }),
      passwordHash: string(255, { allowNull: true }),
      createdAt: moment(),
      disabledAt: moment({ allowNull: true }),
    },
    [["username"]],
  );
}
