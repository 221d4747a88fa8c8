/** Which connection a caller means by its slug, of those that exist for it. */
import type { Registry } from "../connections/registry.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Principal } from "../people/principal.ts";
import type { SignedIn } from "../people/web-sessions.ts";

/** Who asks: an agent or a client with a token, or a person in a browser who may name an organization. */
export type Asking =
  | { readonly principal: Principal }
  | { readonly person: SignedIn; readonly organization: string | undefined };

/** The connection; undefined where there is none that this caller can see. */
export function visibleConnection(
  registry: Pick<Registry, "environments" | "draft">,
  slug: string,
  asking: Asking,
): ServedConnection | undefined {
  const testing = "principal" in asking && asking.principal.testing === true;
  for (const served of registry.environments()) {
    const environment = (testing ? registry.draft(served.id) : undefined) ?? served;
    const seen =
      "principal" in asking
        ? environment.endpoints.some(({ id }) => asking.principal.endpointIds.includes(id))
        : asking.person.role(environment.organizationId) !== undefined &&
          (asking.organization ?? environment.organizationSlug) === environment.organizationSlug;
    const connection = seen ? environment.connections.find((candidate) => candidate.slug === slug) : undefined;
    if (connection) return connection;
  }
  return undefined;
}
