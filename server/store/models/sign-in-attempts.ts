import type { Sequelize } from "sequelize";
import { defineTable, digest, id, moment, oneOf, reference, string, type Table, text } from "./table.ts";

/** `offered`: a link that nobody opened yet; `pending`: a browser is at the authorization server. */
export const ATTEMPT_STATES = ["offered", "pending", "redeeming", "connected", "failed"] as const;

/** One try to sign in upstream. */
export interface SignInAttemptRow {
  id: string;
  organizationId: string;
  connectionId: string;
  /** Whose account it is for; 64 zeros: the deployment's own. */
  principalKey: string;
  state: (typeof ATTEMPT_STATES)[number];
  /** The link of an offered attempt, sealed, so that asking again gives the same one. */
  sealedTicket: string | null;
  /** Person who started it. */
  personId: string | null;
  /** SHA-256 of the `state` parameter, of which the value itself is nowhere but in the browser's URL. */
  stateHash: string | null;
  /** SHA-256 of the value of the cookie that the browser got. */
  browserHash: string | null;
  redirectUri: string | null;
  /** Everything that redeeming the code takes, the PKCE verifier included. */
  sealedFlow: string | null;
  /** How it ended, in a code and in words for the page. */
  outcomeCode: string | null;
  outcomeText: string | null;
  createdAt: Date;
  expiresAt: Date;
}

export function defineSignInAttempts(sequelize: Sequelize): Table<SignInAttemptRow> {
  return defineTable<SignInAttemptRow>(
    sequelize,
    "sign_in_attempts",
    {
      id: id(),
      organizationId: reference(),
      connectionId: reference(),
      principalKey: digest(),
      state: oneOf(ATTEMPT_STATES),
      sealedTicket: text({ allowNull: true }),
      personId: reference({ allowNull: true }),
      stateHash: digest({ allowNull: true }),
      browserHash: digest({ allowNull: true }),
      redirectUri: text({ allowNull: true }),
      sealedFlow: text({ allowNull: true }),
      outcomeCode: string(64, { allowNull: true }),
      outcomeText: text({ allowNull: true }),
      createdAt: moment(),
      expiresAt: moment(),
    },
    [["stateHash"]],
  );
}
