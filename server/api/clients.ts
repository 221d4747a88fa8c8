/** `/api/clients`: the chat clients that people connected. */
import { z } from "zod";
import { SCOPES } from "../people/principal.ts";
import { actorOf } from "./actor.ts";
import { pageOf, pageOfAll, pageQuery } from "./pagination.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const moment = z.iso.datetime();

const client = z
  .object({
    id: z.ulid(),
    clientId: z.string(),
    name: z.string().meta({ description: "As the client claims it." }),
    host: z.string().nullable().meta({ description: "Host of its metadata document, which vouches for the name." }),
    redirectUri: z.string(),
    person: z.object({ id: z.string(), username: z.string(), name: z.string() }),
    endpoint: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    createdAt: moment,
    lastUsedAt: moment.nullable(),
    expiresAt: moment,
  })
  .meta({ id: "ConnectedClient" });

const registration = z
  .object({
    clientId: z.string(),
    name: z.string(),
    createdAt: moment,
    lastUsedAt: moment.nullable(),
    connected: z.int().meta({ description: "People of the organization who have it connected." }),
  })
  .meta({ id: "RegisteredClient" });

export function clientRoutes({ connectedClients }: ApiParts): ApiRoute[] {
  return [
    defineRoute({
      method: "get",
      path: "/clients",
      id: "listClients",
      summary: "List connected clients",
      description: "One's own; with `members:write` those of everybody, unless `own=true`.",
      permission: "member",
      query: z.object({ ...pageQuery, own: z.enum(["true", "false"]).default("false") }),
      response: pageOf(client),
      async handle({ caller, query: { own, ...page } }) {
        const all = await connectedClients.list(actorOf(caller), caller.organizationId, { own: own === "true" });
        const { items, nextCursor } = pageOfAll(all.reverse(), page, ({ id }) => id);
        return {
          nextCursor,
          items: items.map(({ host, createdAt, lastUsedAt, expiresAt, scopes, ...same }) => ({
            ...same,
            scopes: [...scopes],
            host: host ?? null,
            createdAt: createdAt.toISOString(),
            lastUsedAt: lastUsedAt?.toISOString() ?? null,
            expiresAt: expiresAt.toISOString(),
          })),
        };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/clients/:id",
      id: "revokeClient",
      summary: "Disconnect a client; its next call is refused",
      permission: "member",
      params: z.object({ id: z.ulid() }),
      errors: ["not_found"],
      async handle({ caller, params: { id } }) {
        await connectedClients.revoke(actorOf(caller), caller.organizationId, id);
        return undefined;
      },
    }),
    defineRoute({
      method: "get",
      path: "/registrations",
      id: "listRegistrations",
      summary: "List the registered clients that people of the organization use",
      permission: "members:write",
      query: z.object(pageQuery),
      response: pageOf(registration),
      async handle({ caller, query }) {
        const rows = await connectedClients.registered(actorOf(caller), caller.organizationId);
        const sorted = rows.sort((a, b) => (a.clientId < b.clientId ? -1 : 1));
        const { items, nextCursor } = pageOfAll(sorted, query, ({ clientId }) => clientId);
        return {
          nextCursor,
          items: items.map(({ createdAt, lastUsedAt, ...same }) => ({
            ...same,
            createdAt: createdAt.toISOString(),
            lastUsedAt: lastUsedAt?.toISOString() ?? null,
          })),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/registrations/revoke",
      id: "revokeRegistration",
      summary: "Disconnect a client from everybody in the organization",
      permission: "members:write",
      body: z.strictObject({ clientId: z.string().min(1).max(2_000) }),
      response: z.object({ ended: z.int() }),
      handle: async ({ caller, body: { clientId } }) => ({
        ended: await connectedClients.revokeClient(actorOf(caller), caller.organizationId, clientId),
      }),
    }),
  ];
}
