/** What the credential and vault commands share: the vault, and who uses a credential. */

import { credentialName } from "../connections/credentials.ts";
import { configurationEnv } from "../connections/environment.ts";
import { loadConfigDir } from "../connections/files.ts";
import { createStoredCredentials, type StoredCredentials } from "../connections/stored-credentials.ts";
import { vaultChoiceOf } from "../connections/vault-choice.ts";
import { createEgress, type Egress } from "../egress/fetch.ts";
import { HOP_HEADER } from "../mcp/hops.ts";
import type { Store } from "../store/database.ts";
import type { OrganizationRow } from "../store/models/organizations.ts";
import type { Vault } from "../vault/contract.ts";
import { openVault } from "../vault/open.ts";
import { publishedConnections } from "./connections.ts";
import type { CliIo } from "./io.ts";
import { organizationOf } from "./tokens.ts";
import { type Workplace, withWorkplace } from "./workplace.ts";

export interface CredentialDesk extends Workplace {
  credentials: StoredCredentials;
  organization: OrganizationRow;
}

/** Opens the credentials of an organization. */
export async function withCredentials(
  io: CliIo,
  organization: string,
  work: (desk: CredentialDesk) => Promise<void>,
): Promise<void> {
  await withWorkplace(io, (workplace) =>
    withEgress(workplace, async (egress) => {
      const row = await organizationOf(workplace.store, organization);
      const credentials = await openCredentials(workplace, io.env, egress);
      try {
        await work({ ...workplace, credentials, organization: row });
      } finally {
        credentials.close();
      }
    }),
  );
}

/** The way out of a command; closed when the work is done. */
export async function withEgress<T>({ config }: Workplace, work: (egress: Egress) => Promise<T>): Promise<T> {
  const egress = createEgress({
    allow: config.allowPrivateUpstreams,
    closed: () => [],
    keepAcrossOrigins: [HOP_HEADER],
  });
  try {
    return await work(egress);
  } finally {
    await egress.close();
  }
}

/** The vault on the store that the configuration directory names; without one, on the database. */
export function openVaultOf({ config, store, keyring }: Workplace, env: CliIo["env"], egress: Egress): Promise<Vault> {
  const choice = vaultChoiceOf(loadConfigDir(config.configDir, configurationEnv(env, config)));
  return openVault({ choice, store, keyring, fetch: egress.upstreamFetch });
}

export async function openCredentials(
  workplace: Workplace,
  env: CliIo["env"],
  egress: Egress,
): Promise<StoredCredentials> {
  const { store, shared } = workplace;
  const vault = await openVaultOf(workplace, env, egress);
  return createStoredCredentials({ store, vault, bus: shared.bus, clock: Date.now });
}

/** Slugs of the connections that use the credential of each name. */
export async function usersOfCredentials(store: Store, organization: string): Promise<ReadonlyMap<string, string[]>> {
  const users = new Map<string, string[]>();
  for (const { slug, config } of await publishedConnections(store, organization)) {
    if (config.auth.method === "none" || config.auth.secretEnv !== undefined) continue;
    const name = credentialName({ slug, ...config });
    users.set(name, [...new Set([...(users.get(name) ?? []), slug])]);
  }
  return users;
}
