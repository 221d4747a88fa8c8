import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, oneOf, reference, string, type Table, text } from "./table.ts";

/** `sign_in`: to come in; `link`: to add the identity to who is signed in; `invite`: to take an invitation. */
export const EXTERNAL_PURPOSES = ["sign_in", "link", "invite"] as const;

/** One way to another server and back, which ends once. */
export interface ExternalSignInRow {
  id: string;
  /** SHA-256 of what comes back as `state` or `RelayState`. */
  stateHash: string;
  /** SHA-256 of the cookie of the browser in which it began. */
  browserHash: string;
  provider: string;
  purpose: (typeof EXTERNAL_PURPOSES)[number];
  /** Who is signed in, where the identity is to be added to them. */
  personId: string | null;
  /** The invitation that is to be taken. */
  linkId: string | null;
  /** Path of our own to go on with. */
  returnTo: string;
  /** What the protocol has to remember: verifier, nonce, id of the request. */
  sealedSession: string;
  /** An answer that was posted, until the browser comes for it with its cookies. */
  sealedResponse: string | null;
  createdAt: Date;
  expiresAt: Date;
  claimedAt: Date | null;
}

export function defineExternalSignIns(sequelize: Sequelize): Table<ExternalSignInRow> {
  return defineTable<ExternalSignInRow>(
    sequelize,
    "external_sign_ins",
    {
      id: id(),
      stateHash: digest(),
      browserHash: digest(),
      provider: string(64),
      purpose: oneOf(EXTERNAL_PURPOSES),
      personId: reference({ allowNull: true }),
      linkId: reference({ allowNull: true }),
      returnTo: text(),
      sealedSession: text(),
      sealedResponse: text({ allowNull: true }),
      createdAt: moment(),
      expiresAt: moment(),
      claimedAt: moment({ allowNull: true }),
    },
    [["stateHash"]],
  );
}
