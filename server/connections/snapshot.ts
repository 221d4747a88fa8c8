/** Reads what is served from the store: published versions, stored catalogues, states of connections. */
import type { JsonObject } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { ConnectionStateRow } from "../store/models/connection-states.ts";
import { credentialName } from "./credentials.ts";
import { DEFAULT_ENDPOINT } from "./default-endpoint.ts";
import { digestOf, sha256 } from "./digest.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { serveConnection } from "./serve-connection.ts";
import { parseConnectionConfig, parseEndpointConfig, parseForbid } from "./stored-config.ts";
import type { ConnectionConfig, ServedConnection, ServedEndpoint, ServedEnvironment } from "./types.ts";

export interface Served {
  environments: Map<string, ServedEnvironment>;
  connections: Map<string, ServedConnection>;
  /** Equal as long as nothing that is served changed in the store. */
  fingerprint: string;
}

/** What is offered of the pieces: `bundle` and limits, or `reason` why there is none. */
export interface PieceOffers {
  served(config: JsonObject): JsonObject;
}

const NO_PIECES: JsonObject = { reason: "Pieces are not served by this process." };

type State = Pick<ConnectionStateRow, "connectionId" | "catalogueRevision" | "loadErrorCode" | "loadErrorMessage">;

/** A digest of the few columns that change with everything that is served. */
export async function loadFingerprint(store: Store): Promise<string> {
  return fingerprintOf(await loadMarks(store));
}

async function loadMarks(store: Store) {
  const environments = await store.models.environments.findAll({ order: [["id", "ASC"]] });
  const states = await store.models.connectionStates.findAll({
    attributes: ["connectionId", "catalogueRevision", "loadErrorCode", "loadErrorMessage"],
    order: [["connectionId", "ASC"]],
  });
  const credentials = await store.models.credentials.findAll({
    attributes: ["organizationId", "name", "revision"],
    order: [["id", "ASC"]],
  });
  return { environments, states, credentials };
}

function fingerprintOf({ environments, states, credentials }: Awaited<ReturnType<typeof loadMarks>>): string {
  const moved = environments.map(({ id, publishedVersionId, parentId }) => [id, publishedVersionId, parentId]);
  const revisions = credentials.map(({ organizationId, name, revision }) => [organizationId, name, revision]);
  return digestOf([moved, states.map(stateMarks), revisions]);
}

function stateMarks(state: State): unknown[] {
  return [state.connectionId, state.catalogueRevision, state.loadErrorCode, state.loadErrorMessage];
}

/**
 * Reads everything that is served. A connection of `before` whose version, catalogue and state are the same is taken
 * over, so that what was compiled from it stays valid and its tools are not read again.
 */
export async function loadServed(store: Store, before: Served, pieces?: PieceOffers): Promise<Served> {
  const { models } = store;
  // The marks are read before what they stand for: a change in between is then seen again, never missed.
  const marks = await loadMarks(store);
  const { environments, states } = marks;
  const revisions = new Map(
    marks.credentials.map(({ organizationId, name, revision }) => [`${organizationId}|${name}`, revision]),
  );
  const organizations = new Map((await models.organizations.findAll()).map((row) => [row.id, row]));
  const stateOf = new Map(states.map((state) => [state.connectionId, state]));
  const versionIds = environments.flatMap(({ publishedVersionId }) => publishedVersionId ?? []);
  const versions = new Map(
    (await models.environmentVersions.findAll({ where: { id: versionIds } })).map((row) => [row.id, row]),
  );
  const slugs = new Map((await models.connections.findAll()).map((row) => [row.id, row.slug]));
  const endpointSlugs = new Map((await models.endpoints.findAll()).map((row) => [row.id, row.slug]));
  const connectionRows = await models.connectionVersions.findAll({ where: { versionId: versionIds } });
  const endpointRows = await models.endpointVersions.findAll({ where: { versionId: versionIds } });

  const connections = new Map<string, ServedConnection>();
  const owned = new Map<string, ServedConnection[]>();
  for (const environment of environments) {
    const own: ServedConnection[] = [];
    for (const row of connectionRows) {
      if (row.versionId !== environment.publishedVersionId) continue;
      const state = stateOf.get(row.connectionId);
      const { organizationId } = environment;
      const slug = slugs.get(row.connectionId) ?? "";
      const config = parseConnectionConfig(row.config);
      const credentialRevision = usesStored(config)
        ? revisions.get(`${organizationId}|${credentialName({ slug, ...config })}`)
        : undefined;
      const seen = state === undefined ? null : stateMarks(state);
      const offer = config.type === "ap" ? (pieces?.served(config.adapter) ?? NO_PIECES) : undefined;
      const revision = digestOf([row.config, seen, credentialRevision, offer]);
      const known = before.connections.get(row.connectionId);
      const connection =
        known?.revision === revision
          ? known
          : await serveConnection(store, {
              id: row.connectionId,
              slug,
              environmentId: environment.id,
              organizationId,
              config,
              credentialRevision,
              revision,
              ...(offer === undefined ? {} : { offer }),
            });
      own.push(connection);
      connections.set(connection.id, connection);
    }
    owned.set(environment.id, own);
  }

  const result: Served = { environments: new Map(), connections, fingerprint: fingerprintOf(marks) };
  for (const environment of environments) {
    const version = versions.get(environment.publishedVersionId ?? "");
    const organization = organizations.get(environment.organizationId);
    if (version === undefined || organization === undefined) continue;
    const chain = ancestry(environment.id, new Map(environments.map((row) => [row.id, row.parentId])));
    const visible = new Map<string, ServedConnection>();
    // Nearest first: an owned connection shadows an inherited one of the same slug.
    for (const id of chain) {
      for (const connection of owned.get(id) ?? []) {
        if (!visible.has(connection.slug)) visible.set(connection.slug, connection);
      }
    }
    const sorted = [...visible.values()].sort((a, b) => (a.slug < b.slug ? -1 : 1));
    const chainVersions = environments.filter((row) => chain.includes(row.id));
    const endpoints = endpointRows
      .filter((row) => row.versionId === version.id)
      .map((row): ServedEndpoint => {
        const slug = endpointSlugs.get(row.endpointId) ?? "";
        const config = parseEndpointConfig(row.config);
        return {
          id: row.endpointId,
          slug,
          label: config.label,
          organizationId: organization.id,
          organizationSlug: organization.slug,
          environmentId: environment.id,
          config,
          isDefault: environment.slug === FIRST_ENVIRONMENT && slug === DEFAULT_ENDPOINT,
        };
      })
      .sort((a, b) => (a.slug < b.slug ? -1 : 1));
    const revision = sha256(
      JSON.stringify([
        chainVersions.map((row) => [row.id, row.publishedVersionId]),
        sorted.map(({ id, revision }) => [id, revision]),
      ]),
    );
    const known = before.environments.get(environment.id);
    if (known?.revision === revision) {
      result.environments.set(environment.id, known);
      continue;
    }
    result.environments.set(environment.id, {
      id: environment.id,
      slug: environment.slug,
      organizationId: organization.id,
      organizationSlug: organization.slug,
      versionId: version.id,
      revision,
      connections: sorted,
      endpoints,
      forbid: chain.flatMap((id) => {
        const published = environments.find((row) => row.id === id)?.publishedVersionId ?? "";
        return parseForbid(versions.get(published)?.forbid);
      }),
    });
  }
  return result;
}

/** The environment and its ancestors, nearest first; a cycle ends it. */
function ancestry(id: string, parents: ReadonlyMap<string, string | null>): string[] {
  const chain: string[] = [];
  for (let at: string | null | undefined = id; at != null && !chain.includes(at); at = parents.get(at)) chain.push(at);
  return chain;
}

/** Whether a connection looks for a credential by name. */
function usesStored({ auth }: ConnectionConfig): boolean {
  return auth.method !== "none" && auth.secretEnv === undefined;
}
