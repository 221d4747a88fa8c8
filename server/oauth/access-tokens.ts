/**
 * Verifies access tokens: who they stand for and where they work. They are opaque, so that what ends a grant, a
 * person's membership or a role ends them, too, within a second in every process.
 */
import { mayUseEndpoint } from "../access/principals.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import type { Log } from "../observe/log.ts";
import { type Membership, membershipOf } from "../people/membership.ts";
import { PEOPLE_ISSUER } from "../people/people.ts";
import { clientKey, type Principal, principalKey } from "../people/principal.ts";
import { personVariables } from "../people/principal-variables.ts";
import { createTokenCache } from "../people/token-cache.ts";
import { isToken } from "../people/token-format.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import type { Grants } from "./grants.ts";
import type { Resources } from "./resources.ts";
import { impliedScopes } from "./scopes.ts";
import { accessTokenKey, openPayload } from "./storage.ts";

/** A person who came with a token, and whether this endpoint is for them. */
export interface VerifiedPerson {
  readonly principal: Principal;
  /** False: the endpoint must look as if it did not exist. */
  readonly mayUse: boolean;
}

export interface AccessTokens {
  /** Undefined where the token is none, has ended, or is for another audience than this endpoint. */
  verify(token: string, endpoint: ServedEndpoint | undefined): Promise<VerifiedPerson | undefined>;
  /** The person behind a token that works at its own endpoint, for questions about what that endpoint uses. */
  personOf(token: string): Promise<Principal | undefined>;
  /** Waits for what is still being written and stops listening. */
  close(): Promise<void>;
}

interface Known {
  readonly principal: Principal;
  readonly audience: string;
  readonly expiresAt: number;
  readonly member: Membership;
}

export interface AccessTokensOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly bus: Bus;
  readonly grants: Grants;
  readonly resources: Pick<Resources, "urlOf" | "find">;
  readonly log: Log;
  readonly clock: () => number;
  /** A good token came to another endpoint than its own; told at most once a minute for each token. */
  readonly onForeign: (principal: Principal) => void;
}

const TOUCH_MS = 60_000;

export function createAccessTokens(options: AccessTokensOptions): AccessTokens {
  const { store, keyring, bus, grants, resources, log, clock, onForeign } = options;
  const { oauthArtifacts, people } = store.models;
  const cache = createTokenCache<Known>();
  const loading = new Map<string, Promise<Known | undefined>>();
  const touched = new Map<string, number>();
  const strayed = new Map<string, number>();
  const pending = new Set<Promise<void>>();
  const unsubscribe = bus.subscribe(TOPICS.tokens, () => {
    cache.clear();
    loading.clear();
  });

  async function read(key: string): Promise<Known | undefined> {
    const row = await oauthArtifacts.findOne({ where: { artifactKey: key, model: "AccessToken" } });
    if (row === null || row.grantKey === null || row.expiresAt.getTime() <= clock()) return undefined;
    const payload = openPayload(keyring, key, row.sealedPayload);
    const grant = await grants.find(row.grantKey);
    if (payload === undefined || grant === undefined || payload.accountId !== grant.personId) return undefined;
    const person = await people.findOne({ where: { id: grant.personId, disabledAt: null } });
    const { organizationId, personId, clientId, id: tokenId } = grant;
    const member = person === null ? undefined : await membershipOf(store, organizationId, person);
    if (person === null || member === undefined || typeof payload.aud !== "string") return undefined;
    const principal: Principal = {
      kind: "person",
      organizationId,
      issuer: PEOPLE_ISSUER,
      subject: personId,
      name: person.name,
      key: principalKey(PEOPLE_ISSUER, personId),
      scopes: impliedScopes(payload.scope ?? ""),
      tokenId,
      clientKey: clientKey(`${tokenId}|${clientId}`),
      endpointIds: Object.freeze([grant.endpointId]),
      // A registered client's id says nothing about who it is; that of a document's host does.
      variables: Object.freeze({
        ...(await personVariables(store, person, grant.identityId)),
        ...(clientId.startsWith("https://") ? { "client.id": clientId } : {}),
      }),
    };
    const expiresAt = row.expiresAt.getTime();
    return { principal: Object.freeze(principal), audience: payload.aud, expiresAt, member };
  }

  async function load(key: string): Promise<Known | undefined> {
    const { generation } = cache;
    const known = await read(key);
    // An end that came in meanwhile must win over rows that were read before it.
    if (generation === cache.generation) cache.set(key, known, clock(), known?.expiresAt ?? Number.POSITIVE_INFINITY);
    return known;
  }

  function loadOnce(key: string): Promise<Known | undefined> {
    const running = loading.get(key);
    if (running !== undefined) return running;
    const started = load(key).finally(() => {
      if (loading.get(key) === started) loading.delete(key);
    });
    loading.set(key, started);
    return started;
  }

  function touch(grantId: string, now: number): void {
    if (now - (touched.get(grantId) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return;
    if (touched.size > 10_000) touched.clear();
    touched.set(grantId, now);
    const write = grants
      .touch(grantId)
      .catch((error: unknown) => log.warn({ error, grant: grantId }, "the last use of a grant could not be written"))
      .finally(() => pending.delete(write));
    pending.add(write);
  }

  function noteForeign(principal: Principal, now: number): void {
    if (now - (strayed.get(principal.tokenId) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return;
    if (strayed.size > 10_000) strayed.clear();
    strayed.set(principal.tokenId, now);
    onForeign(principal);
  }

  return {
    async verify(token, endpoint) {
      if (!isToken(token, "oat")) return undefined;
      const key = accessTokenKey(token);
      const now = clock();
      const cached = cache.get(key, now);
      const known = cached === undefined ? await loadOnce(key) : cached.value;
      if (known === undefined || now >= known.expiresAt || endpoint?.config.signIn !== "on") return undefined;
      const { principal, audience, member } = known;
      if (!principal.endpointIds.includes(endpoint.id) || audience !== resources.urlOf(endpoint)) {
        noteForeign(principal, now);
        return undefined;
      }
      touch(principal.tokenId, now);
      return { principal, mayUse: mayUseEndpoint(endpoint.config.principals, member) };
    },
    async personOf(token) {
      if (!isToken(token, "oat")) return undefined;
      const key = accessTokenKey(token);
      const cached = cache.get(key, clock());
      const known = cached === undefined ? await loadOnce(key) : cached.value;
      const endpoint = known && resources.find(known.audience);
      if (!known || !endpoint || clock() >= known.expiresAt) return undefined;
      const { principal, member } = known;
      const good = principal.endpointIds.includes(endpoint.id) && principal.scopes.size > 0;
      return good && mayUseEndpoint(endpoint.config.principals, member) ? principal : undefined;
    },
    async close() {
      unsubscribe();
      await Promise.all(pending);
    },
  };
}
