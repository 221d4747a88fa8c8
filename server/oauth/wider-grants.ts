/**
 * Adds scopes to what a person allowed a client. The client's tokens are opaque, so that those it holds allow more from
 * now on, and clients that cannot ask for a token with more scopes need none.
 */

import type { AdapterPayload } from "oidc-provider";
import { Op } from "sequelize";
import { z } from "zod";
import type { Scope } from "../people/principal.ts";
import { type Bus, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { OAuthGrantRow } from "../store/models/oauth-grants.ts";
import type { Keyring } from "../vault/keyring.ts";
import { seal } from "../vault/seal.ts";
import { artifactAad, openPayload } from "./storage.ts";

export interface WideningParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly bus: Bus;
}

/** Resolves when every process will find it. False where the grant has ended meanwhile. */
export async function widenGrant(
  { store, keyring, bus }: WideningParts,
  { id, grantKey, resource }: Pick<OAuthGrantRow, "id" | "grantKey" | "resource">,
  scopes: readonly Scope[],
): Promise<boolean> {
  const { oauthGrants, oauthArtifacts } = store.models;
  const done = await store.transaction(async (transaction) => {
    const where = { id, endedAt: null };
    const grant = await oauthGrants.findOne({ where, transaction, lock: transaction.LOCK.UPDATE });
    if (grant === null) return false;
    await oauthGrants.update({ scopes: withScopes(grant.scopes, scopes) }, { where, transaction });
    const model = ["Grant", "AccessToken", "RefreshToken"];
    const belongs = { model, [Op.or]: [{ grantKey }, { artifactKey: grantKey }] };
    for (const row of await oauthArtifacts.findAll({ where: belongs, transaction })) {
      const { artifactKey } = row;
      const payload = openPayload(keyring, artifactKey, row.sealedPayload);
      if (payload === undefined) continue;
      const wider = row.model === "Grant" ? widerGrant(payload, resource, scopes) : widerToken(payload, scopes);
      const sealedPayload = seal(keyring, JSON.stringify(wider), artifactAad({ artifactKey }));
      await oauthArtifacts.update({ sealedPayload }, { where: { artifactKey }, transaction });
    }
    return true;
  });
  if (done) await bus.publish(TOPICS.tokens, { widened: id });
  return done;
}

function widerToken(payload: AdapterPayload, scopes: readonly Scope[]): AdapterPayload {
  return { ...payload, scope: withScopes(payload.scope, scopes) };
}

const scopesKept = {
  openid: z.looseObject({ scope: z.string().optional() }).optional(),
  resources: z.record(z.string(), z.string()).optional(),
};
/** The library keeps what was allowed and what was refused, each as scopes of the server and of the resource. */
const storedGrant = z.looseObject({ ...scopesKept, rejected: z.looseObject(scopesKept).optional() });

function widerGrant(payload: AdapterPayload, resource: string, scopes: readonly Scope[]): object {
  const { openid, resources, rejected, ...rest } = storedGrant.parse(payload);
  return {
    ...rest,
    openid: { ...openid, scope: withScopes(openid?.scope, scopes) },
    resources: { ...resources, [resource]: withScopes(resources?.[resource], scopes) },
    rejected: {
      ...rejected,
      openid: { ...rejected?.openid, scope: without(rejected?.openid?.scope, scopes) },
      resources: { ...rejected?.resources, [resource]: without(rejected?.resources?.[resource], scopes) },
    },
  };
}

function withScopes(text: string | undefined, scopes: readonly string[]): string {
  return [...new Set([...wordsOf(text), ...scopes])].join(" ");
}

function without(text: string | undefined, scopes: readonly string[]): string {
  return wordsOf(text)
    .filter((word) => !scopes.includes(word))
    .join(" ");
}

function wordsOf(text: string | undefined): string[] {
  return (text ?? "").split(" ").filter((word) => word !== "");
}
