/** Every route of the API: one file for each group, one line for each file. */
import { accountRoutes } from "./accounts.ts";
import { approvalRoutes } from "./approvals.ts";
import { clientRoutes } from "./clients.ts";
import { connectionRoutes } from "./connections.ts";
import { credentialRoutes } from "./credentials.ts";
import { healthRoutes } from "./health.ts";
import { meRoutes } from "./me.ts";
import type { ApiParts } from "./parts.ts";
import { peopleRoutes } from "./people.ts";
import type { ApiRoute } from "./route.ts";
import { tokenRoutes } from "./tokens.ts";
import { toolRoutes } from "./tools.ts";

const GROUPS: readonly ((parts: ApiParts) => ApiRoute[])[] = [
  meRoutes,
  peopleRoutes,
  tokenRoutes,
  clientRoutes,
  connectionRoutes,
  credentialRoutes,
  accountRoutes,
  healthRoutes,
  approvalRoutes,
  toolRoutes,
];

/** All routes. Throws where two have one id: a mistake of ours, seen at the start. */
export function apiRoutes(parts: ApiParts): ApiRoute[] {
  const routes = GROUPS.flatMap((group) => group(parts));
  const twice = routes.find((route, index) => routes.findIndex(({ id }) => id === route.id) !== index);
  if (twice !== undefined) throw new Error(`two routes have the id ${twice.id}`);
  return routes;
}
