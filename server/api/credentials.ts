/** `/api/credentials`: the secrets that connections authenticate with. They go in and never come out. */
import { z } from "zod";
import { credentialName } from "../connections/credentials.ts";
import { CREDENTIAL_NAME, LONGEST_SECRET } from "../connections/stored-credentials.ts";
import { JackfieldError } from "../errors.ts";
import { pageOf, pageOfAll, pageQuery } from "./pagination.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const credential = z
  .object({
    name: z.string(),
    kind: z.string(),
    fields: z.array(z.string()).meta({ description: "Names of the fields that have a value; never the values." }),
    usedBy: z.array(z.string()).meta({ description: "Slugs of the connections that use it." }),
    createdBy: z.string(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "Credential" });

const params = z.object({ name: z.string().regex(CREDENTIAL_NAME) });

export function credentialRoutes({ credentials, registry }: ApiParts): ApiRoute[] {
  function usersOf(organizationId: string, name: string): string[] {
    const users = registry
      .connections()
      .filter((one) => one.organizationId === organizationId && one.auth.method !== "none")
      .filter((one) => one.auth.secretEnv === undefined && credentialName(one) === name);
    return [...new Set(users.map(({ slug }) => slug))].sort();
  }

  async function list(organizationId: string): Promise<z.input<typeof credential>[]> {
    return (await credentials.list(organizationId)).map(({ name, kind, fields, createdBy, createdAt, updatedAt }) => ({
      ...{ name, kind, fields, createdBy, usedBy: usersOf(organizationId, name) },
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
    }));
  }

  return [
    defineRoute({
      method: "get",
      path: "/credentials",
      id: "listCredentials",
      summary: "List the stored credentials, without their values",
      permission: "connections:read",
      query: z.object(pageQuery),
      response: pageOf(credential),
      handle: async ({ caller, query }) => pageOfAll(await list(caller.organizationId), query, ({ name }) => name),
    }),
    defineRoute({
      method: "put",
      path: "/credentials/:name",
      id: "setCredential",
      summary: "Store values of a credential; fields that are not named keep theirs",
      permission: "connections:write",
      recent: true,
      params,
      body: z.strictObject({
        values: z
          .record(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/), z.string().min(1).max(LONGEST_SECRET))
          .refine((values) => Object.keys(values).length > 0, "name at least one field")
          .meta({ description: "By field: `secret`, or `client_id`, `client_secret`, `private_key`, or others." }),
      }),
      bodyLimit: 4 * LONGEST_SECRET,
      response: credential,
      errors: ["invalid_credential", "vault_unavailable"],
      async handle({ caller, params: { name }, body: { values } }) {
        const { organizationId } = caller;
        await credentials.set({ organizationId, name, values, by: caller.name });
        const found = (await list(organizationId)).find((one) => one.name === name);
        if (found === undefined) throw new JackfieldError("not_found");
        return found;
      },
    }),
    defineRoute({
      method: "delete",
      path: "/credentials/:name",
      id: "deleteCredential",
      summary: "Delete a credential and its values",
      permission: "connections:write",
      recent: true,
      params,
      errors: ["not_found"],
      async handle({ caller, params: { name } }) {
        if (!(await credentials.delete(caller.organizationId, name))) throw new JackfieldError("not_found");
        return undefined;
      },
    }),
  ];
}
