/**
 * The library's storage contract (seven methods per kind of thing) on our database. Ids are hashed, because the id of
 * a token is the token; payloads are sealed. Who reads the database finds nothing to use.
 */
import Provider, { type Adapter, type AdapterFactory, type AdapterPayload, errors } from "oidc-provider";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { open, SealError, seal } from "../vault/seal.ts";
import type { Clients } from "./clients.ts";
import type { EndReason, Grants } from "./grants.ts";
import { digestOf } from "./keys.ts";
import { isInGrace } from "./refresh-grace.ts";

export interface StorageOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clients: Clients;
  readonly grants: Grants;
  readonly clock: () => number;
  readonly graceMs: number;
  /** A used refresh token was accepted once more. */
  readonly onGrace: (grantKey: string) => void;
}

/** Seconds that something lives of which the library does not say how long. */
const LONGEST_SECONDS = 180 * 86_400;

export function createStorage(options: StorageOptions): AdapterFactory {
  return (model) => {
    if (model === "Client") return clientStorage(options.clients);
    // Who is signed in is told by our own session, at each request anew: the library's is never looked at.
    if (model === "Session") return FORGETFUL;
    return artifactStorage(model, options);
  };
}

/** The digest under which a grant is stored. */
export function grantKeyOf(grantId: string): string {
  return digestOf("Grant", grantId);
}

/** The digest under which an access token is stored. */
export function accessTokenKey(token: string): string {
  return digestOf("AccessToken", token);
}

/** Opens what was stored of a thing; undefined where its key is gone or it was changed. */
export function openPayload(keyring: Keyring, artifactKey: string, sealed: string): AdapterPayload | undefined {
  try {
    return JSON.parse(open(keyring, sealed, artifactAad({ artifactKey })));
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** What the payload of a row is sealed to. */
export function artifactAad({ artifactKey }: { readonly artifactKey: string }): string {
  return `oauth|${artifactKey}`;
}

function artifactStorage(model: string, options: StorageOptions): Adapter {
  const { store, keyring, grants, clock, graceMs, onGrace } = options;
  const { oauthArtifacts } = store.models;
  const keyOf = (id: string) => digestOf(model, id);
  return {
    async upsert(id, { jti: _jti, ...payload }, expiresIn = LONGEST_SECONDS) {
      const artifactKey = keyOf(id);
      const row = {
        model,
        sealedPayload: seal(keyring, JSON.stringify(payload), artifactAad({ artifactKey })),
        grantKey: payload.grantId === undefined ? null : grantKeyOf(payload.grantId),
        expiresAt: new Date(clock() + expiresIn * 1000),
      };
      const [changed] = await oauthArtifacts.update(row, { where: { artifactKey } });
      if (changed === 0) await oauthArtifacts.create({ ...row, artifactKey });
    },

    async find(id) {
      const artifactKey = keyOf(id);
      const row = await oauthArtifacts.findOne({ where: { artifactKey } });
      const now = clock();
      if (row === null || row.expiresAt.getTime() <= now) return undefined;
      const payload = openPayload(keyring, artifactKey, row.sealedPayload);
      if (payload === undefined) return undefined;
      if (model === "Grant" && !(await grants.isLive(artifactKey))) return undefined;
      const found = { ...payload, jti: id };
      if (row.consumedAt === null) return found;
      if (model === "RefreshToken" && isInGrace(row.consumedAt, now, graceMs)) {
        if (row.grantKey !== null) onGrace(row.grantKey);
        return found;
      }
      return { ...found, consumed: Math.floor(row.consumedAt.getTime() / 1000) };
    },

    async consume(id) {
      const artifactKey = keyOf(id);
      const consumedAt = new Date(clock());
      const [changed] = await oauthArtifacts.update({ consumedAt }, { where: { artifactKey, consumedAt: null } });
      if (changed === 1 || model !== "AuthorizationCode") return;
      // Two requests at once have both found it unused: one of them holds a stolen code, and nobody knows which.
      const row = await oauthArtifacts.findOne({ where: { artifactKey } });
      if (row !== null && row.grantKey !== null) await grants.end(row.grantKey, "code_replayed");
      throw new errors.InvalidGrant("authorization code already consumed");
    },

    async destroy(id) {
      const artifactKey = keyOf(id);
      await oauthArtifacts.destroy({ where: { artifactKey } });
      if (model === "Grant") await grants.end(artifactKey, reasonNow());
    },

    async revokeByGrantId(grantId) {
      await oauthArtifacts.destroy({ where: { model, grantKey: grantKeyOf(grantId) } });
    },

    findByUid: nothing,
    findByUserCode: nothing,
  };
}

/** At the token endpoint the library ends a grant only because something that works once was used again. */
function reasonNow(): EndReason {
  const oidc = Provider.ctx?.oidc;
  if (oidc?.route !== "token") return "revoked";
  return oidc.params?.["grant_type"] === "refresh_token" ? "refresh_replayed" : "code_replayed";
}

function clientStorage(clients: Clients): Adapter {
  return {
    async upsert(id, payload) {
      await clients.save(id, payload);
    },
    find: (id) => clients.find(id),
    async destroy(id) {
      await clients.remove(id);
    },
    consume: done,
    revokeByGrantId: done,
    findByUid: nothing,
    findByUserCode: nothing,
  };
}

const nothing = (): Promise<undefined> => Promise.resolve(undefined);
const done = (): Promise<void> => Promise.resolve();

const FORGETFUL: Adapter = {
  upsert: done,
  find: nothing,
  destroy: done,
  consume: done,
  revokeByGrantId: done,
  findByUid: nothing,
  findByUserCode: nothing,
};
