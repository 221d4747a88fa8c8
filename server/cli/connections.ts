/** What the connection commands share: the published connections of an organization and how one is named. */

import { parseConnectionConfig } from "../connections/stored-config.ts";
import type { ConnectionConfig } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { ConnectionStateRow } from "../store/models/connection-states.ts";
import { organizationOf } from "./tokens.ts";

export interface PublishedConnection {
  id: string;
  slug: string;
  /** Slug of the environment that owns it. */
  environment: string;
  environmentId: string;
  organizationId: string;
  type: string;
  label: string;
  config: ConnectionConfig;
  source: string | null;
  state: ConnectionStateRow | undefined;
}

/** The connections that an organization's environments serve now, by environment and slug. */
export async function publishedConnections(store: Store, organization: string): Promise<PublishedConnection[]> {
  const { id: organizationId } = await organizationOf(store, organization);
  const environments = await store.models.environments.findAll({ where: { organizationId }, order: [["id", "ASC"]] });
  const found: PublishedConnection[] = [];
  for (const environment of environments) {
    if (environment.publishedVersionId === null) continue;
    const versionId = environment.publishedVersionId;
    const versions = await store.models.connectionVersions.findAll({ where: { versionId } });
    const ids = versions.map((version) => version.connectionId);
    const connections = await store.models.connections.findAll({ where: { id: ids } });
    const states = await store.models.connectionStates.findAll({ where: { connectionId: ids } });
    for (const connection of connections.sort((a, b) => (a.slug < b.slug ? -1 : 1))) {
      const version = versions.find((candidate) => candidate.connectionId === connection.id);
      if (version === undefined) continue;
      found.push({
        id: connection.id,
        slug: connection.slug,
        environment: environment.slug,
        environmentId: environment.id,
        organizationId,
        type: version.type,
        label: version.label,
        config: parseConnectionConfig(version.config),
        source: version.source,
        state: states.find((state) => state.connectionId === connection.id),
      });
    }
  }
  return found;
}

/**
 * The connection a command names, in the first environment that has it unless one is named.
 * @throws JackfieldError `not_found` naming the connections there are
 */
export async function connectionOf(
  store: Store,
  slug: string,
  options: { organization: string; environment?: string },
): Promise<PublishedConnection> {
  const all = await publishedConnections(store, options.organization);
  const there = all.filter(
    ({ environment }) => options.environment === undefined || environment === options.environment,
  );
  const found = there.find((connection) => connection.slug === slug);
  if (found !== undefined) return found;
  const names = [...new Set(there.map((connection) => connection.slug))].join(", ") || "none; start the server once";
  throw new JackfieldError("not_found", { text: `There is no connection ${slug} (there are: ${names}).` });
}
