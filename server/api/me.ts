/** `/api/me`: who the caller is and what they may. */
import { z } from "zod";
import { PERMISSIONS } from "../people/permissions.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const me = z
  .object({
    kind: z.enum(["person", "agent"]),
    id: z.string(),
    name: z.string(),
    username: z.string().nullable().meta({ description: "Of a person." }),
    email: z.string().nullable(),
    role: z.enum(["admin", "member"]).nullable(),
    organization: z.object({ id: z.string(), slug: z.string(), name: z.string() }),
    permissions: z.array(z.enum(PERMISSIONS)),
    via: z.enum(["session", "token"]),
    csrf: z.string().nullable().meta({ description: "What a browser sends in X-CSRF-Token; null for tokens." }),
  })
  .meta({ id: "Me" });

export function meRoutes({ store }: ApiParts): ApiRoute[] {
  return [
    defineRoute({
      method: "get",
      path: "/me",
      id: "getMe",
      summary: "Tell who calls and what they may",
      permission: "member",
      response: me,
      async handle({ caller }) {
        const { people, organizations } = store.models;
        const organization = await organizations.findByPk(caller.organizationId);
        const person = caller.kind === "person" ? await people.findByPk(caller.subject) : null;
        return {
          kind: caller.kind,
          id: caller.subject,
          name: caller.name,
          username: person?.username ?? null,
          email: person?.email ?? null,
          role: caller.role ?? null,
          organization: { id: caller.organizationId, slug: caller.organizationSlug, name: organization?.name ?? "" },
          permissions: [...caller.permissions],
          via: caller.via,
          csrf: caller.csrfToken ?? null,
        };
      },
    }),
  ];
}
