/** Accounts, and everything that keeps and renews them: what the server and the command line open alike. */
import type { Log } from "../../adapters/contract.ts";
import type { JackfieldFile } from "../connections/schema.ts";
import type { StoredCredentials } from "../connections/stored-credentials.ts";
import type { SharedState } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { type AccountClients, createAccountClients } from "./account-client.ts";
import { type Accounts, createAccounts } from "./accounts.ts";
import { metadataUrlOf } from "./client-metadata.ts";
import { createSignInCredentials, type SignInCredentials } from "./credentials.ts";
import { createOAuthApps, type OAuthApps, type PieceSignIn } from "./oauth-apps.ts";
import type { ReachOptions } from "./reach.ts";
import { createRegistrations, type Registrations } from "./registration.ts";
import { staticClients } from "./static-client.ts";

export interface AccountsDesk extends SignInCredentials {
  readonly accounts: Accounts;
  readonly registrations: Registrations;
  readonly apps: OAuthApps;
  /** The clients that accounts' tokens were issued to. */
  readonly clients: AccountClients;
}

export interface AccountsDeskOptions extends ReachOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly shared: Pick<SharedState, "bus" | "locks">;
  readonly credentials: Pick<StoredCredentials, "find">;
  /** `jackfield.yml`, as it was read last. */
  readonly jackfield: () => Pick<JackfieldFile, "oauthApps" | "signInOrder" | "clientMetadataUrl">;
  /** Where `${env:NAME}` is looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Origin under which browsers reach this server, without a closing slash. */
  readonly publicUrl: () => string;
  /** How a piece signs in. */
  readonly pieceSignIn?: (id: string) => PieceSignIn | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Close its `accounts` when done. */
export function openAccounts(options: AccountsDeskOptions): AccountsDesk {
  const { store, keyring, shared, credentials, jackfield, env, publicUrl, clock } = options;
  const accounts = createAccounts({ store, keyring, bus: shared.bus, clock });
  const registrations = createRegistrations({
    store,
    keyring,
    publicUrl,
    metadataUrl: () => metadataUrlOf(publicUrl(), jackfield().clientMetadataUrl),
    order: () => jackfield().signInOrder,
    staticClient: staticClients(credentials),
    clock,
  });
  const apps = createOAuthApps(() => jackfield().oauthApps, env, options.pieceSignIn);
  const clients = createAccountClients({ registrations, apps });
  const signIn = createSignInCredentials({ ...options, accounts, clients, locks: shared.locks });
  return { accounts, registrations, apps, clients, ...signIn };
}
