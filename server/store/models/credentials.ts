import type { Sequelize } from "sequelize";
import { defineTable, id, moment, oneOf, reference, string, type Table } from "./table.ts";

export const CREDENTIAL_KINDS = ["secret", "client", "fields"] as const;

/** A credential by name. Its values are in the vault, under its id as owner; nothing of them is here. */
export interface CredentialRow {
  id: string;
  organizationId: string;
  name: string;
  /** `secret`: one value. `client`: an OAuth client's id and secret. `fields`: values of other names. */
  kind: (typeof CREDENTIAL_KINDS)[number];
  /** A ULID that changes with every value. */
  revision: string;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export function defineCredentials(sequelize: Sequelize): Table<CredentialRow> {
  return defineTable<CredentialRow>(
    sequelize,
    "credentials",
    {
      id: id(),
      organizationId: reference(),
      name: string(64),
      kind: oneOf(CREDENTIAL_KINDS),
      revision: reference(),
      createdBy: string(255),
      createdAt: moment(),
      updatedAt: moment(),
    },
    [["organizationId", "name"]],
  );
}
