/** Ends an account: its tokens are deleted here, and revoked at the authorization server where it offers that. */
import type { Log } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import { SealError } from "../vault/seal.ts";
import type { Accounts } from "./accounts.ts";
import { revokeToken, TokenError } from "./token-request.ts";
import type { Account, ClientAuthentication } from "./types.ts";

export interface Disconnect {
  readonly accounts: Pick<Accounts, "find" | "tokens" | "end">;
  /** The client that the tokens were issued to; undefined where it is gone. */
  readonly authenticationOf: (account: Account) => Promise<ClientAuthentication | undefined>;
  /** Reaches what the connection names. */
  readonly named: (connection: ServedConnection) => Promise<typeof fetch>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
}

/**
 * Disconnects. The row stays, so that signing in again keeps the account's id.
 * @returns false where there was no account
 */
export async function disconnect(
  parts: Disconnect,
  { connection, principalKey }: { connection: ServedConnection; principalKey: string },
): Promise<boolean> {
  const account = await parts.accounts.find(connection.id, principalKey);
  if (!account || account.sealedTokens === null) return false;
  const tokens = tokensOf(parts, account);
  // Ours go first: whatever the authorization server answers, nobody uses them from here any more.
  if (!(await parts.accounts.end(account, "disconnected"))) return disconnect(parts, { connection, principalKey });
  if (tokens) await revoke(parts, connection, account, tokens);
  return true;
}

function tokensOf({ accounts, log }: Disconnect, account: Account): ReturnType<Accounts["tokens"]> {
  try {
    return accounts.tokens(account);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    log.warn(
      { account: account.id, reason: error.message },
      "the tokens of an account could not be opened to revoke them",
    );
    return undefined;
  }
}

/** RFC 7009: ending the refresh token ends what came from it at most servers; the access token is ended to be sure. */
async function revoke(
  { authenticationOf, named, clock, log }: Disconnect,
  connection: ServedConnection,
  account: Account,
  tokens: { accessToken: string; refreshToken?: string },
): Promise<void> {
  const { revocationEndpoint: endpoint, authorizationServer: issuer } = account;
  const client = endpoint === null ? undefined : await authenticationOf(account);
  if (endpoint === null || !client) return;
  const request = { endpoint, client, issuer, fetch: await named(connection), clock };
  try {
    if (tokens.refreshToken !== undefined) await revokeToken(request, tokens.refreshToken, "refresh_token");
    await revokeToken(request, tokens.accessToken, "access_token");
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    log.warn({ connection: connection.slug, reason: error.message }, "tokens could not be revoked at the service");
  }
}
