/** `/api/accounts`: where the caller is signed in. */
import { z } from "zod";
import { JackfieldError } from "../errors.ts";
import { pageOf, pageOfAll, pageQuery } from "./pagination.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const account = z
  .object({
    connection: z.ulid(),
    slug: z.string().meta({ description: "Of the connection." }),
    label: z.string(),
    environment: z.string(),
    connected: z.boolean(),
  })
  .meta({ id: "Account" });

export function accountRoutes({ registry, accounts, disconnect }: ApiParts): ApiRoute[] {
  return [
    defineRoute({
      method: "get",
      path: "/accounts",
      id: "listAccounts",
      summary: "List the connections that one signs in to oneself, and whether one is",
      permission: "member",
      query: z.object(pageQuery),
      response: pageOf(account),
      async handle({ caller, query }) {
        const own = registry
          .connections()
          .filter((one) => one.organizationId === caller.organizationId && one.subject === "user")
          .sort((a, b) => (a.id < b.id ? -1 : 1));
        const { items, nextCursor } = pageOfAll(own, query, ({ id }) => id);
        const shown = items.map(async ({ id, slug, label, environmentId }) => ({
          ...{ connection: id, slug, label, environment: registry.environment(environmentId)?.slug ?? "" },
          connected: ((await accounts.find(id, caller.key))?.sealedTokens ?? null) !== null,
        }));
        return { items: await Promise.all(shown), nextCursor };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/accounts/:connection",
      id: "disconnectAccount",
      summary: "Sign out of a connection; its tokens are revoked where the service offers that",
      permission: "member",
      params: z.object({ connection: z.ulid() }),
      errors: ["not_found"],
      async handle({ caller, params: { connection: id } }) {
        const found = registry.connection(id);
        const own = found?.organizationId === caller.organizationId && found.subject === "user";
        if (!own || !(await disconnect(found, caller.key))) {
          throw new JackfieldError("not_found", { text: "You are not signed in there." });
        }
        return undefined;
      },
    }),
  ];
}
