/** Ends an account: its tokens are deleted here, and revoked at the authorization server where it offers that. */
import type { Log } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Egress } from "../egress/fetch.ts";
import { SealError } from "../vault/seal.ts";
import type { AccountClients } from "./account-client.ts";
import type { Accounts } from "./accounts.ts";
import { namedBy } from "./reach.ts";
import { revokeToken, TokenError } from "./token-request.ts";
import type { Account } from "./types.ts";

export interface DisconnectParts {
  readonly accounts: Pick<Accounts, "find" | "tokens" | "end">;
  /** The clients that tokens were issued to. */
  readonly clients: Pick<AccountClients, "of">;
  readonly egress: Pick<Egress, "namedBy">;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
}

/**
 * Disconnects. The row stays, so that signing in again keeps the account's id.
 * @returns false where there was no account
 */
export async function disconnect(
  parts: DisconnectParts,
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

function tokensOf({ accounts, log }: DisconnectParts, account: Account): ReturnType<Accounts["tokens"]> {
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
  { clients, egress, clock, log }: DisconnectParts,
  connection: ServedConnection,
  account: Account,
  tokens: { accessToken: string; refreshToken?: string },
): Promise<void> {
  const { revocationEndpoint: endpoint, authorizationServer: issuer } = account;
  if (endpoint === null) return;
  try {
    const client = await clients.of(account);
    if (!client) return;
    const request = { endpoint, client, issuer, fetch: await namedBy(egress, connection), clock };
    if (tokens.refreshToken !== undefined) await revokeToken(request, tokens.refreshToken, "refresh_token");
    await revokeToken(request, tokens.accessToken, "access_token");
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    log.warn({ connection: connection.slug, reason: error.message }, "tokens could not be revoked at the service");
  }
}
