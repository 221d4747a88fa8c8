/**
 * The clients that people connected: what each may, and its end. A connected client is a grant; ending it ends its
 * tokens everywhere within a second, and the person is asked anew when the client comes back.
 */

import { JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import { PEOPLE_ISSUER } from "../people/people.ts";
import { noteChange } from "../people/people-audit.ts";
import { type Actor, demand } from "../people/permissions.ts";
import { parseScopes, type Scope } from "../people/principal.ts";
import type { Store } from "../store/database.ts";
import type { OAuthGrantRow } from "../store/models/oauth-grants.ts";
import { clientKeyOf } from "./clients.ts";
import type { Consents } from "./consents.ts";
import type { Grants } from "./grants.ts";

/** One client that one person connected to one endpoint. */
export interface ConnectedClient {
  readonly id: string;
  readonly clientId: string;
  /** As it claims it; empty where it claims none. */
  readonly name: string;
  /** Host of its metadata document, which vouches for the name; undefined where it registered itself. */
  readonly host: string | undefined;
  /** Where answers go. */
  readonly redirectUri: string;
  readonly person: { readonly id: string; readonly username: string; readonly name: string };
  /** Slug. */
  readonly endpoint: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date;
}

/** A registration, whoever uses it. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** How many people of the organization have it connected. */
  readonly connected: number;
}

export interface ConnectedClients {
  /** Newest first: the actor's own, or with `members:write` everybody's unless `own` says otherwise. */
  list(actor: Actor, organizationId: string, options?: { own?: boolean }): Promise<ConnectedClient[]>;
  /** Ends one. Throws `not_found` where it is not there for the actor. */
  revoke(actor: Actor, organizationId: string, id: string): Promise<void>;
  /** Ends what every person of the organization connected with a client. Throws `permission_missing`. */
  revokeClient(actor: Actor, organizationId: string, clientId: string): Promise<number>;
  /** Registrations that somebody of the organization uses. Throws `permission_missing`. */
  registered(actor: Actor, organizationId: string): Promise<RegisteredClient[]>;
}

export interface ConnectedClientsOptions {
  readonly store: Store;
  readonly grants: Grants;
  readonly consents: Consents;
  readonly audit: Audit;
}

export function createConnectedClients({ store, grants, consents, audit }: ConnectedClientsOptions): ConnectedClients {
  const { people, endpoints, oauthClients } = store.models;

  /** What the actor may see. */
  async function visible(actor: Actor, organizationId: string, own: boolean): Promise<OAuthGrantRow[]> {
    if (!own && actor.may(organizationId, "members:write")) return grants.list(organizationId);
    return actor.issuer === PEOPLE_ISSUER ? grants.list(organizationId, actor.subject) : [];
  }

  async function end(actor: Actor, grant: OAuthGrantRow): Promise<void> {
    // First what would let it back in without a question.
    await consents.forget(grant.clientId, grant.personId);
    await grants.end(grant.grantKey, "revoked");
    const reason = `${grant.clientName || grant.clientId} (${grant.id})`;
    noteChange(audit, actor, "client_revoked", { organizationId: grant.organizationId, reason });
  }

  return {
    async list(actor, organizationId, { own = false } = {}) {
      const rows = await visible(actor, organizationId, own);
      const persons = await people.findAll({ where: { id: [...new Set(rows.map(({ personId }) => personId))] } });
      const found = await endpoints.findAll({ where: { id: [...new Set(rows.map(({ endpointId }) => endpointId))] } });
      return rows.map((grant) => {
        const person = persons.find(({ id }) => id === grant.personId);
        return {
          id: grant.id,
          clientId: grant.clientId,
          name: grant.clientName,
          host: grant.clientId.startsWith("https://") ? new URL(grant.clientId).host : undefined,
          redirectUri: grant.redirectUri,
          person: { id: grant.personId, username: person?.username ?? "", name: person?.name ?? "" },
          endpoint: found.find(({ id }) => id === grant.endpointId)?.slug ?? "",
          scopes: [...parseScopes(grant.scopes)],
          createdAt: grant.createdAt,
          lastUsedAt: grant.lastUsedAt,
          expiresAt: grant.expiresAt,
        };
      });
    },

    async revoke(actor, organizationId, id) {
      const grant = (await visible(actor, organizationId, false)).find((row) => row.id === id);
      if (grant === undefined) throw new JackfieldError("not_found", { text: "There is no such connected client." });
      await end(actor, grant);
    },

    async revokeClient(actor, organizationId, clientId) {
      demand(actor, organizationId, "members:write");
      const clientKey = clientKeyOf(clientId);
      const rows = (await grants.list(organizationId)).filter((grant) => grant.clientKey === clientKey);
      for (const grant of rows) await end(actor, grant);
      return rows.length;
    },

    async registered(actor, organizationId) {
      demand(actor, organizationId, "members:write");
      const live = await grants.list(organizationId);
      const keys = [...new Set(live.map(({ clientKey }) => clientKey))];
      const rows = await oauthClients.findAll({ where: { clientKey: keys }, order: [["id", "DESC"]] });
      return rows.map(({ clientId, clientKey, name, createdAt, lastUsedAt }) => {
        const of = live.filter((grant) => grant.clientKey === clientKey);
        return { clientId, name, createdAt, lastUsedAt, connected: new Set(of.map(({ personId }) => personId)).size };
      });
    },
  };
}
