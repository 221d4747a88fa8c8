import type { Sequelize } from "sequelize";
import { defineTable, digest, id, json, moment, reference, string, type Table } from "./table.ts";

/** That somebody whom another server signs in is a person here. */
export interface IdentityRow {
  id: string;
  personId: string;
  /** Id of the sign-in provider in `jackfield.yml` through which it was linked or used last. */
  provider: string;
  /** SHA-256 of issuer and subject; see `identityKey`. */
  identityKey: string;
  issuer: string;
  subject: string;
  /** How the provider calls them, to tell identities apart in lists: an address or a login. */
  label: string;
  /** What the last sign-in said, as far as it is kept: `${{principal.<name>}}`. */
  claims: Record<string, string>;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export function defineIdentities(sequelize: Sequelize): Table<IdentityRow> {
  return defineTable<IdentityRow>(
    sequelize,
    "identities",
    {
      id: id(),
      personId: reference(),
      provider: string(64),
      identityKey: digest(),
      issuer: string(512),
      subject: string(512),
      label: string(255),
      claims: json("claims"),
      createdAt: moment(),
      lastUsedAt: moment({ allowNull: true }),
    },
    [["identityKey"]],
  );
}
