/** `/api/tokens`: tokens of agents, and people's own. */
import { z } from "zod";
import type { AgentTokenSummary } from "../people/agent-tokens.ts";
import { PERMISSIONS } from "../people/permissions.ts";
import { SCOPES } from "../people/principal.ts";
import { LONGEST_OVERLAP_MS, type MadeToken, OVERLAP_MS, type TokenWish } from "../people/token-desk.ts";
import { tokenActorOf } from "./actor.ts";
import { pageOf, pageOfAll, pageQuery } from "./pagination.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const moment = z.iso.datetime();
const DAY = 86_400_000;

const token = z
  .object({
    id: z.ulid(),
    kind: z.enum(["own", "agent"]).meta({ description: "Of a person for their own programs, or of an agent." }),
    name: z.string(),
    person: z.string().nullable().meta({ description: "Id of the person whose own it is." }),
    endsIn: z.string().meta({ description: "The last four characters." }),
    endpoints: z.array(z.string()),
    testing: z.boolean().meta({ description: "Sees the drafts of environments." }),
    scopes: z.array(z.enum(SCOPES)),
    permissions: z.array(z.enum(PERMISSIONS)),
    variables: z.record(z.string(), z.string()),
    allowedNetworks: z.array(z.string()).nullable(),
    state: z.enum(["active", "expired", "revoked"]),
    createdAt: moment,
    createdBy: z.string(),
    expiresAt: moment.nullable(),
    lastUsedAt: moment.nullable(),
    lastUsedAddress: z.string().nullable(),
    rotatedAt: moment.nullable().meta({ description: "When it got a successor; it ends at `expiresAt`." }),
    rotatedFrom: z.string().nullable().meta({ description: "The token that this one succeeds." }),
  })
  .meta({ id: "Token" });

const made = z.object({ secret: z.string().meta({ description: "The token itself. Shown this once." }), token });

const wish = z
  .strictObject({
    kind: z.enum(["own", "agent"]).default("own"),
    name: z.string().min(1).max(128).meta({ description: "Of the agent, or what an own token is for." }),
    endpoints: z.array(z.string()).min(1).max(50).default(["default"]),
    scopes: z.array(z.enum(SCOPES)).min(1).default(["mcp:read", "mcp:write"]),
    permissions: z.array(z.enum(PERMISSIONS)).default([]).meta({ description: "What it may at this API." }),
    variables: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/), z.string().max(1_000)).default({}),
    allowedNetworks: z.array(z.string().max(64)).max(50).optional(),
    testing: z.boolean().default(false).meta({
      description: "Sees the drafts of environments instead of what is published; needs `connections:write`.",
    }),
    expiresInDays: z.number().positive().max(3_650).nullable().default(90).meta({ description: "null: never." }),
  })
  .meta({ id: "NewToken" });

const params = z.object({ id: z.ulid() });

export function tokenRoutes({ tokenDesk, store, clock }: ApiParts): ApiRoute[] {
  async function slugs(tokens: readonly AgentTokenSummary[]): Promise<ReadonlyMap<string, string>> {
    const id = [...new Set(tokens.flatMap(({ endpointIds }) => endpointIds))];
    return new Map((await store.models.endpoints.findAll({ where: { id } })).map((row) => [row.id, row.slug]));
  }

  async function shown({ secret, token: of }: MadeToken) {
    return { secret, token: viewOf(of, await slugs([of]), clock()) };
  }

  return [
    defineRoute({
      method: "get",
      path: "/tokens",
      id: "listTokens",
      summary: "List tokens",
      description: "One's own; with `members:write` all of the organization, the ended ones included.",
      permission: "member",
      query: z.object({ ...pageQuery, kind: z.enum(["own", "agent"]).optional() }),
      response: pageOf(token),
      async handle({ caller, query: { kind, ...page } }) {
        const all = await tokenDesk.list(tokenActorOf(caller));
        const fitting = all.filter(({ personId }) => kind === undefined || (personId === null) === (kind === "agent"));
        const { items, nextCursor } = pageOfAll(fitting, page, ({ id }) => id);
        const names = await slugs(items);
        return { items: items.map((item) => viewOf(item, names, clock())), nextCursor };
      },
    }),
    defineRoute({
      method: "post",
      path: "/tokens",
      id: "createToken",
      summary: "Make a token",
      description:
        "A token of an agent needs `members:write`. None can do more than who makes it, then and later; variables are an admin's to give.",
      permission: "member",
      recent: true,
      body: wish,
      status: 201,
      response: made,
      errors: ["config_invalid"],
      limit: { points: 60, perMs: 3_600_000 },
      async handle({ caller, body: { kind, expiresInDays, allowedNetworks, ...same } }) {
        const wanted: TokenWish = {
          ...same,
          ...(allowedNetworks === undefined ? {} : { allowedNetworks }),
          ...(expiresInDays === null ? {} : { expiresAt: new Date(clock() + expiresInDays * DAY) }),
        };
        const by = tokenActorOf(caller);
        return shown(await (kind === "own" ? tokenDesk.createOwn(by, wanted) : tokenDesk.createForAgent(by, wanted)));
      },
    }),
    defineRoute({
      method: "get",
      path: "/tokens/:id",
      id: "getToken",
      summary: "Show a token, without its secret",
      permission: "member",
      params,
      response: token,
      errors: ["not_found"],
      async handle({ caller, params: { id } }) {
        const found = await tokenDesk.find(tokenActorOf(caller), id);
        return viewOf(found, await slugs([found]), clock());
      },
    }),
    defineRoute({
      method: "post",
      path: "/tokens/:id/rotate",
      id: "rotateToken",
      summary: "Make a successor; the old one goes on for a while",
      permission: "member",
      recent: true,
      params,
      body: z.strictObject({
        overlapHours: z
          .number()
          .min(0)
          .max(LONGEST_OVERLAP_MS / 3_600_000)
          .default(OVERLAP_MS / 3_600_000),
      }),
      status: 201,
      response: made,
      errors: ["not_found", "conflict"],
      limit: { points: 60, perMs: 3_600_000 },
      handle: async ({ caller, params: { id }, body }) =>
        shown(await tokenDesk.rotate(tokenActorOf(caller), id, body.overlapHours * 3_600_000)),
    }),
    defineRoute({
      method: "delete",
      path: "/tokens/:id",
      id: "revokeToken",
      summary: "Revoke a token; it is refused within a second",
      permission: "member",
      params,
      errors: ["not_found"],
      async handle({ caller, params: { id } }) {
        await tokenDesk.revoke(tokenActorOf(caller), id);
        return undefined;
      },
    }),
  ];
}

function viewOf(of: AgentTokenSummary, slugOf: ReadonlyMap<string, string>, now: number): z.input<typeof token> {
  const { id, name, scopes, permissions, testing, variables, allowedNetworks, createdBy, rotatedFrom } = of;
  return {
    ...{ id, name, scopes, permissions, testing, variables, allowedNetworks, createdBy, rotatedFrom },
    kind: of.personId === null ? "agent" : "own",
    person: of.personId,
    endsIn: of.last4,
    endpoints: of.endpointIds.map((endpoint) => slugOf.get(endpoint) ?? endpoint),
    state: stateOf(of, now),
    createdAt: of.createdAt.toISOString(),
    expiresAt: of.expiresAt?.toISOString() ?? null,
    lastUsedAt: of.lastUsedAt?.toISOString() ?? null,
    lastUsedAddress: of.lastUsedIp,
    rotatedAt: of.rotatedAt?.toISOString() ?? null,
  };
}

function stateOf({ revokedAt, expiresAt }: AgentTokenSummary, now: number): "active" | "expired" | "revoked" {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt.getTime() <= now ? "expired" : "active";
}
