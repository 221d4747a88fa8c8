/** Clients that registered themselves: kept, found, and forgotten when nobody uses them. */
import type { AdapterPayload } from "oidc-provider";
import { Op } from "sequelize";
import type { Store } from "../store/database.ts";
import type { OAuthClientRow } from "../store/models/oauth-clients.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, SealError, seal } from "../vault/seal.ts";
import { digestOf } from "./keys.ts";
import { plainName } from "./registration-normaliser.ts";

/** Rows of clients that nobody has authorized: whoever registers a million gets no further. */
export const MAX_UNUSED = 10_000;
const TOUCH_MS = 3_600_000;

export interface Clients {
  save(clientId: string, metadata: AdapterPayload): Promise<void>;
  /** Its metadata; undefined where it never was or was forgotten. */
  find(clientId: string): Promise<AdapterPayload | undefined>;
  remove(clientId: string): Promise<void>;
  /** The row, for pages; undefined for clients that did not register here. */
  row(clientId: string): Promise<OAuthClientRow | undefined>;
  /** Notes that a person allowed it something. */
  authorized(clientId: string): Promise<void>;
  /** Notes that it was used. */
  used(clientId: string): Promise<void>;
  /** Whether as many unauthorized ones are kept as may be. */
  isFull(): Promise<boolean>;
}

export interface ClientsOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: () => number;
}

/** The digest under which everything of a client is stored. */
export function clientKeyOf(clientId: string): string {
  return digestOf("client", clientId);
}

/** What the secret of a row is sealed to. */
export function clientAad({ clientKey }: { readonly clientKey: string }): string {
  return `oauth-client|${clientKey}`;
}

export function createClients({ store, keyring, clock }: ClientsOptions): Clients {
  const { oauthClients } = store.models;

  async function rowOf(clientId: string): Promise<OAuthClientRow | undefined> {
    const row = await oauthClients.findOne({ where: { clientKey: clientKeyOf(clientId) } });
    return row?.get({ plain: true });
  }

  return {
    async save(clientId, { client_secret: secret, ...metadata }) {
      const clientKey = clientKeyOf(clientId);
      await oauthClients.create({
        clientKey,
        clientId,
        name: plainName(metadata["client_name"]) ?? "",
        metadata,
        sealedSecret: typeof secret === "string" ? seal(keyring, secret, clientAad({ clientKey })) : null,
        createdAt: new Date(clock()),
      });
    },
    async find(clientId) {
      const row = await rowOf(clientId);
      if (row === undefined) return undefined;
      if (row.sealedSecret === null) return row.metadata;
      try {
        return { ...row.metadata, client_secret: open(keyring, row.sealedSecret, clientAad(row)) };
      } catch (error) {
        // Its key is gone: as good as forgotten, so that the client registers anew.
        if (error instanceof SealError) return undefined;
        throw error;
      }
    },
    async remove(clientId) {
      await oauthClients.destroy({ where: { clientKey: clientKeyOf(clientId) } });
    },
    row: rowOf,
    async authorized(clientId) {
      const authorizedAt = new Date(clock());
      await oauthClients.update({ authorizedAt }, { where: { clientKey: clientKeyOf(clientId), authorizedAt: null } });
    },
    async used(clientId) {
      const now = clock();
      const stale = { [Op.or]: [{ lastUsedAt: null }, { lastUsedAt: { [Op.lte]: new Date(now - TOUCH_MS) } }] };
      await oauthClients.update(
        { lastUsedAt: new Date(now) },
        { where: { clientKey: clientKeyOf(clientId), ...stale } },
      );
    },
    isFull: async () => (await oauthClients.count({ where: { authorizedAt: null } })) >= MAX_UNUSED,
  };
}
