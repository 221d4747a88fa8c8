import type { Sequelize } from "sequelize";
import { defineTable, digest, id, integer, moment, oneOf, reference, string, type Table, text } from "./table.ts";

export const ACCOUNT_STATES = ["connected", "needs_sign_in"] as const;

/** The tokens that one principal holds at one connection. */
export interface AccountRow {
  id: string;
  organizationId: string;
  connectionId: string;
  /** Key of the principal; 64 zeros: the deployment's own. */
  principalKey: string;
  principalIssuer: string;
  principalSubject: string;
  /** Issuer of the authorization server, as it spells itself. */
  authorizationServer: string;
  /** Row of `oauth_registrations` that the tokens were issued to. */
  registrationId: string | null;
  /** Or the provider OAuth app of `jackfield.yml`. */
  oauthApp: string | null;
  /** As the authorization server's metadata named it at the sign-in; null: these tokens are never refreshed. */
  tokenEndpoint: string | null;
  revocationEndpoint: string | null;
  /** The tokens go to this origin only. */
  boundOrigin: string;
  /** And to this URL and below only. */
  boundResource: string;
  /** `resource` of RFC 8707 as it was sent; null: none was. */
  resource: string | null;
  /** Client credentials: HMAC of the client that the tokens were minted with, so that another one is noticed. */
  mintedWith: string | null;
  /** Space-separated. */
  scopesAsked: string;
  scopesGranted: string;
  /** Scopes that the service asked for later (`insufficient_scope`); null: none. */
  scopesWanted: string | null;
  /** Sign-ins that followed such a demand without ending it. */
  stepUps: number;
  /** Null where there are no tokens any more. */
  sealedTokens: string | null;
  expiresAt: Date | null;
  /** From here on a call refreshes first. */
  refreshAfter: Date | null;
  /** Rises with every change of the tokens: the truth about who refreshed. */
  version: number;
  /** Somebody is refreshing, or died while doing so. */
  refreshingSince: Date | null;
  state: (typeof ACCOUNT_STATES)[number];
  /** Why it needs a sign-in. */
  endedReason: string | null;
  /** Person who signed in, where that is not the principal. */
  connectedBy: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export function defineAccounts(sequelize: Sequelize): Table<AccountRow> {
  return defineTable<AccountRow>(
    sequelize,
    "accounts",
    {
      id: id(),
      organizationId: reference(),
      connectionId: reference(),
      principalKey: digest(),
      principalIssuer: string(255),
      principalSubject: string(255),
      authorizationServer: text(),
      registrationId: reference({ allowNull: true }),
      oauthApp: string(64, { allowNull: true }),
      tokenEndpoint: text({ allowNull: true }),
      revocationEndpoint: text({ allowNull: true }),
      boundOrigin: text(),
      boundResource: text(),
      resource: text({ allowNull: true }),
      mintedWith: digest({ allowNull: true }),
      scopesAsked: text(),
      scopesGranted: text(),
      scopesWanted: text({ allowNull: true }),
      stepUps: integer(),
      sealedTokens: text({ allowNull: true }),
      expiresAt: moment({ allowNull: true }),
      refreshAfter: moment({ allowNull: true }),
      version: integer(),
      refreshingSince: moment({ allowNull: true }),
      state: oneOf(ACCOUNT_STATES),
      endedReason: string(64, { allowNull: true }),
      connectedBy: string(255, { allowNull: true }),
      createdAt: moment(),
      updatedAt: moment(),
    },
    [["connectionId", "principalKey"]],
  );
}
