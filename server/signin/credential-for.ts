/**
 * The credential of a connection that one signs in to: the calling principal's account, or the deployment's own.
 *
 * It is looked up by connection and principal at each request, renewed before it expires and once after the service
 * refused it, and carries with it where it may go.
 */
import {
  type AdapterContext,
  type Credential,
  type JsonObject,
  type Refusal,
  UpstreamError,
} from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import { SealError } from "../vault/seal.ts";
import type { AccountClients } from "./account-client.ts";
import type { Accounts, KeptTokens } from "./accounts.ts";
import { isBoundTo, urlOf } from "./binding.ts";
import { type Renewal, type RenewalWork, reasonOf } from "./refresh.ts";
import { requestTokens, type TokenError } from "./token-request.ts";
import { type Account, DEPLOYMENT_KEY, type SignInReason } from "./types.ts";

export interface CredentialParts {
  readonly accounts: Accounts;
  readonly clients: AccountClients;
  readonly renewal: Renewal;
  /** Reaches what a service names; takes the service's URL. */
  readonly named: (url: URL) => Promise<typeof fetch>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface AccountCredentials {
  /**
   * The getter that an adapter gets for a connection with `auth.method: oauth`. It rejects with JackfieldError
   * `authorization_required` (`data.reason` is a `SignInReason`), or UpstreamError where the authorization server
   * cannot be asked and the token is over.
   */
  credentialFor(connection: ServedConnection, principalKey: string | undefined): AdapterContext["credential"];
  /** Whether the principal's account can be used at the connection as it is now; from memory where known. */
  connected(connection: ServedConnection, principalKey: string | undefined): Promise<boolean>;
  /** The same, and the service has not asked for further scopes since. */
  settled(connection: ServedConnection, principalKey: string | undefined): Promise<boolean>;
}

/** Whose account a principal uses at a connection; undefined where only single users have one. */
export function accountKeyOf(
  connection: Pick<ServedConnection, "subject">,
  principalKey: string | undefined,
): string | undefined {
  return connection.subject === "user" ? principalKey : DEPLOYMENT_KEY;
}

export function createAccountCredentials(parts: CredentialParts): AccountCredentials {
  const { accounts, clients, renewal, named, clock } = parts;

  const work: RenewalWork = {
    async request(account) {
      const { refreshToken, data } = accounts.tokens(account) ?? {};
      return requestTokens({
        endpoint: account.tokenEndpoint ?? "",
        form: { grant_type: "refresh_token", refresh_token: refreshToken, resource: account.resource ?? undefined },
        client: await clients.of(account),
        issuer: account.authorizationServer,
        // What the operator wrote down himself stands for itself; anything else was named by the connection.
        fetch: await named(new URL(account.oauthApp === null ? account.boundResource : (account.tokenEndpoint ?? ""))),
        clock,
        wholeAnswer: data !== undefined,
      });
    },
    async endsOn(error, account) {
      if (error.kind === "invalid_grant") return "invalid_grant";
      if (error.kind === "invalid_client" && (await clients.unknown(account))) return "invalid_client";
      return undefined;
    },
  };

  /** Newer tokens, or what is still good of the old ones. */
  async function renewed(connection: ServedConnection, account: Account, refused: boolean): Promise<Account> {
    const outcome = await renewal.renew(account, work);
    if (outcome.kind === "ended") throw signInNeeded(connection, outcome.reason);
    if (outcome.kind === "renewed") return outcome.account;
    const over = account.expiresAt !== null && clock() >= account.expiresAt.getTime();
    if (!refused && !over) return outcome.account;
    throw notRenewed(connection, outcome.error);
  }

  async function end(connection: ServedConnection, account: Account, reason: SignInReason): Promise<Account> {
    if (await accounts.end(account, reason)) throw signInNeeded(connection, reason);
    return usable(connection, await accounts.find(account.connectionId, account.principalKey));
  }

  /** The account, unless the connection needs a sign-in first. */
  function usable(connection: ServedConnection, account: Account | undefined): Account {
    const reason = obstacle(connection, account);
    if (!account || reason) throw signInNeeded(connection, reason ?? "no_account");
    return account;
  }

  function tokensOf(connection: ServedConnection, account: Account): KeptTokens {
    try {
      const tokens = accounts.tokens(account);
      if (tokens) return tokens;
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
    }
    throw signInNeeded(connection, "unreadable");
  }

  async function afterRefusal(connection: ServedConnection, key: string, refusal: Refusal): Promise<Account> {
    const account = usable(connection, await accounts.find(connection.id, key));
    const { accessToken, refreshToken } = tokensOf(connection, account);
    const { credential, status, challenge } = refusal;
    // Somebody was faster: what was refused is not what we hold.
    if (credential?.kind !== "bearer" || credential.token !== accessToken) return account;
    if (status === 403) {
      const scopes = challengedScopes(challenge);
      if (scopes.length === 0 || !(await accounts.want(account, scopes))) return account;
      throw signInNeeded(connection, "scope", scopes);
    }
    const hopeless = refreshToken === undefined || account.tokenEndpoint === null || renewal.isFresh(account);
    return hopeless ? end(connection, account, "refused") : renewed(connection, account, true);
  }

  async function known(connection: ServedConnection, principalKey: string | undefined): Promise<Account | undefined> {
    const key = accountKeyOf(connection, principalKey);
    return key === undefined ? undefined : accounts.recent(connection.id, key);
  }

  async function current(connection: ServedConnection, key: string): Promise<Account> {
    const account = usable(connection, await accounts.recent(connection.id, key));
    const now = clock();
    if (account.refreshAfter === null || now < account.refreshAfter.getTime()) return account;
    if (tokensOf(connection, account).refreshToken !== undefined && account.tokenEndpoint !== null) {
      return renewed(connection, account, false);
    }
    const over = account.expiresAt !== null && now >= account.expiresAt.getTime();
    return over ? end(connection, account, "expired") : account;
  }

  return {
    credentialFor(connection, principalKey) {
      const key = accountKeyOf(connection, principalKey);
      return async (refusal) => {
        if (key === undefined) throw signInNeeded(connection, "no_account");
        const account = refusal ? await afterRefusal(connection, key, refusal) : await current(connection, key);
        const { accessToken, data } = tokensOf(connection, account);
        return asCredential(accessToken, account, data);
      };
    },
    async connected(connection, principalKey) {
      return obstacle(connection, await known(connection, principalKey)) === undefined;
    },
    async settled(connection, principalKey) {
      const account = await known(connection, principalKey);
      return obstacle(connection, account) === undefined && account?.scopesWanted === null;
    },
  };
}

/** Why this account is of no use to the connection as it is configured now. */
function obstacle(connection: ServedConnection, account: Account | undefined): SignInReason | undefined {
  if (!account) return "no_account";
  if (account.state !== "connected") return reasonOf(account);
  if (!isBoundTo(account, urlOf(connection))) return "address_changed";
  if (account.mintedWith !== null) return "app_changed";
  // Tokens of a pairing packet belong to no client.
  const paired = account.registrationId === null && account.oauthApp === null;
  return paired || account.oauthApp === (connection.auth.app ?? null) ? undefined : "app_changed";
}

/** The access token, bound to where it may go. */
export function asCredential(
  accessToken: string,
  account: Pick<Account, "boundResource">,
  data?: JsonObject,
): Credential {
  return { kind: "bearer", token: accessToken, within: account.boundResource, ...(data === undefined ? {} : { data }) };
}

const WHY: Readonly<Record<SignInReason, string>> = {
  no_account: "needs a sign-in first.",
  invalid_grant: "ended the sign-in. Sign in again.",
  invalid_client: "does not know this server any more. Sign in again.",
  expired: "gave a sign-in that has run out. Sign in again.",
  refused: "does not accept the sign-in any more. Sign in again.",
  address_changed: "has another address than when it was signed in to. Sign in again.",
  scope: "needs further permissions. Sign in again and grant them.",
  app_changed: "is signed in to in another way than before. Sign in again.",
  disconnected: "was disconnected. Sign in again.",
  unreadable: "has a sign-in that cannot be opened with this server's keys. Sign in again.",
};

/** The error that asks for a sign-in. `data`: which connection, why, and the scopes that are wanted. */
export function signInNeeded(
  connection: Pick<ServedConnection, "slug" | "label">,
  reason: SignInReason,
  scopes?: readonly string[],
): JackfieldError {
  return new JackfieldError("authorization_required", {
    text: `${connection.label} ${WHY[reason]}`,
    detail: reason,
    data: { connection: connection.slug, reason, ...(scopes ? { scopes } : {}) },
  });
}

function notRenewed({ label }: ServedConnection, error: TokenError): UpstreamError {
  const options = { processed: "no" as const, detail: error.message, cause: error };
  if (error.kind === "unavailable") {
    const text = `The sign-in to ${label} could not be renewed: its authorization server does not answer. It is kept; call again in a while.`;
    return new UpstreamError("upstream_unreachable", text, options);
  }
  const what = error.code === undefined ? "" : ` (${error.code})`;
  const text = `The sign-in to ${label} could not be renewed: its authorization server refuses this server${what}. An administrator must look at it.`;
  return new UpstreamError("authentication_required", text, options);
}

/** `scope` of a Bearer challenge (RFC 6750, 3). */
export function challengedScopes(challenge: string | undefined): string[] {
  const [, quoted, bare] = /\bscope=(?:"([^"]*)"|([^\s,"]+))/i.exec(challenge ?? "") ?? [];
  const words = (quoted ?? bare ?? "").split(" ").filter((word) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word));
  return words.slice(0, 100);
}
