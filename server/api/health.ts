/** `/api/health`: how the connections of the organization are. Whether the process is well says `/ready`. */
import { z } from "zod";
import { HEALTHS } from "../store/models/connection-states.ts";
import { VERSION } from "../version.ts";
import type { ApiParts } from "./parts.ts";
import { type ApiRoute, defineRoute } from "./route.ts";

const count = z.int().min(0);

const health = z
  .object({
    version: z.string(),
    connections: z
      .object({ healthy: count, unhealthy: count, untested: count, configured: count })
      .meta({ description: "How many connections were last seen so; `configured` ones cannot be asked." }),
    problems: z.array(
      z.object({ connection: z.string(), environment: z.string(), code: z.string().nullable(), message: z.string() }),
    ),
  })
  .meta({ id: "Health" });

export function healthRoutes({ store, registry }: ApiParts): ApiRoute[] {
  return [
    defineRoute({
      method: "get",
      path: "/health",
      id: "getHealth",
      summary: "Tell how the connections of the organization are",
      permission: "connections:read",
      response: health,
      async handle({ caller }) {
        const served = registry.connections().filter(({ organizationId }) => organizationId === caller.organizationId);
        const rows = await store.models.connectionStates.findAll({
          where: { connectionId: served.map(({ id }) => id) },
        });
        const stateOf = new Map(rows.map((row) => [row.connectionId, row]));
        const seen = served.map((connection) => ({ connection, state: stateOf.get(connection.id) }));
        const environments = new Map(registry.environments().map(({ id, slug }) => [id, slug]));
        return {
          version: VERSION,
          connections: {
            ...{ healthy: 0, unhealthy: 0, untested: 0, configured: 0 },
            ...Object.fromEntries(
              HEALTHS.map((name) => [name, seen.filter(({ state }) => (state?.health ?? "untested") === name).length]),
            ),
          },
          problems: seen.flatMap(({ connection, state }) => {
            const failed = connection.loadError ?? failureOf(state);
            if (failed === undefined) return [];
            const environment = environments.get(connection.environmentId) ?? "";
            return [{ connection: connection.slug, environment, code: failed.code, message: failed.message }];
          }),
        };
      },
    }),
  ];
}

function failureOf(
  state: { health: string; healthCode: string | null; healthMessage: string | null } | undefined,
): { code: string | null; message: string } | undefined {
  if (state?.health !== "unhealthy") return undefined;
  return { code: state.healthCode, message: state.healthMessage ?? "The service gives no reason." };
}
