/** The vault of a deployment, on the store that `jackfield.yml` names. */
import type { Store } from "../store/database.ts";
import { type AwsOptions, openAwsSecrets } from "./aws-secrets-manager.ts";
import type { Vault } from "./contract.ts";
import type { Keyring } from "./keyring.ts";
import { createSqlSecrets } from "./sql.ts";
import { createVault } from "./vault.ts";

/** `vault` of `jackfield.yml`. */
export type VaultChoice = { readonly store: "sql" } | ({ readonly store: "aws" } & Omit<AwsOptions, "fetch">);

export interface VaultOptions {
  readonly choice: VaultChoice;
  readonly store: Store;
  readonly keyring: Keyring;
  /** Guarded way out, for a store that is a service. */
  readonly fetch: typeof globalThis.fetch;
}

/** Opens it; reaches for nothing yet. Throws `start_failed` where a package is missing. */
export async function openVault({ choice, store, keyring, fetch }: VaultOptions): Promise<Vault> {
  if (choice.store === "sql") return createVault(keyring, createSqlSecrets(store));
  return createVault(keyring, await openAwsSecrets({ ...choice, fetch }));
}
