/** The token side of signing in upstream, composed: the credentials that connections get from accounts. */
import type { AdapterContext, Log } from "../../adapters/contract.ts";
import type { StoredCredentials } from "../connections/stored-credentials.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Keyring } from "../vault/keyring.ts";
import type { AccountClients } from "./account-client.ts";
import type { Accounts } from "./accounts.ts";
import { createClientCredentials } from "./client-credentials.ts";
import { createAccountCredentials } from "./credential-for.ts";
import { createReach, type ReachOptions } from "./reach.ts";
import { createRenewal } from "./refresh.ts";

export interface SignInCredentialsOptions extends ReachOptions {
  readonly accounts: Accounts;
  readonly clients: AccountClients;
  readonly keyring: Keyring;
  readonly credentials: Pick<StoredCredentials, "find">;
  /** Where `${env:NAME}` is looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly locks: Locks;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export interface SignInCredentials {
  /** The getter that an adapter gets, for connections with `oauth` or `client_credentials`. */
  credentialFor(connection: ServedConnection, principalKey: string | undefined): AdapterContext["credential"];
  /** Whether an account is there that the connection can use as it is configured now; from memory where known. */
  connected(connection: ServedConnection, principalKey: string | undefined): Promise<boolean>;
  /** The same, and the service has not asked for further scopes since. */
  settled(connection: ServedConnection, principalKey: string | undefined): Promise<boolean>;
}

export function createSignInCredentials(options: SignInCredentialsOptions): SignInCredentials {
  const { accounts, clients, keyring, credentials, env, egress, locks, log, clock } = options;
  const renewal = createRenewal({ accounts, locks, clock, log });
  const signedIn = createAccountCredentials({ accounts, clients, renewal, named: egress.namedBy, clock });
  const minted = createClientCredentials({
    accounts,
    renewal,
    keyring,
    credentials,
    env,
    reach: createReach(options),
    clock,
  });
  return {
    credentialFor: (connection, principalKey) =>
      connection.auth.method === "client_credentials"
        ? minted(connection)
        : signedIn.credentialFor(connection, principalKey),
    connected: signedIn.connected,
    settled: signedIn.settled,
  };
}
