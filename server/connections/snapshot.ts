/** Reads what is served from the store: published versions, stored catalogues, states of connections. */
import type { JsonObject } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { ConnectionStateRow } from "../store/models/connection-states.ts";
import type { EnvironmentRow } from "../store/models/environments.ts";
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
  /** Environments with a draft, as they would be served if it was published now. */
  drafts: Map<string, ServedEnvironment>;
  /** Equal as long as nothing that is served changed in the store. */
  fingerprint: string;
}

/** What is offered of the pieces: `bundle` and limits, or `reason` why there is none. */
export interface PieceOffers {
  served(config: JsonObject): JsonObject;
}

const NO_PIECES: JsonObject = { reason: "Pieces are not served by this process." };

/** Nothing was read yet. */
export const NOTHING_SERVED: Served = {
  environments: new Map(),
  connections: new Map(),
  drafts: new Map(),
  fingerprint: "",
};

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
  const drafts = await store.models.environmentVersions.findAll({
    attributes: ["id", "environmentId", "digest", "forbid", "parentId"],
    where: { state: "draft" },
    order: [["id", "ASC"]],
  });
  return { environments, states, credentials, drafts };
}

function fingerprintOf({ environments, states, credentials, drafts }: Awaited<ReturnType<typeof loadMarks>>): string {
  const moved = environments.map(({ id, publishedVersionId, parentId }) => [id, publishedVersionId, parentId]);
  const revisions = credentials.map(({ organizationId, name, revision }) => [organizationId, name, revision]);
  const waiting = drafts.map(({ id, digest }) => [id, digest]);
  return digestOf([moved, states.map(stateMarks), revisions, waiting]);
}

function stateMarks(state: State): unknown[] {
  return [state.connectionId, state.catalogueRevision, state.loadErrorCode, state.loadErrorMessage];
}

/**
 * Reads everything that is served, and the drafts for those who try them. A connection of `before` whose version,
 * catalogue and state are the same is taken over, so that what was compiled from it stays valid and its tools are not
 * read again.
 */
export async function loadServed(store: Store, before: Served, pieces?: PieceOffers): Promise<Served> {
  const { models } = store;
  // The marks are read before what they stand for: a change in between is then seen again, never missed.
  const marks = await loadMarks(store);
  const { environments, states, drafts } = marks;
  const revisions = new Map(
    marks.credentials.map(({ organizationId, name, revision }) => [`${organizationId}|${name}`, revision]),
  );
  const organizations = new Map((await models.organizations.findAll()).map((row) => [row.id, row]));
  const stateOf = new Map(states.map((state) => [state.connectionId, state]));
  const published = environments.flatMap(({ publishedVersionId }) => publishedVersionId ?? []);
  const versionIds = [...published, ...drafts.map(({ id }) => id)];
  const versions = new Map(
    (await models.environmentVersions.findAll({ where: { id: versionIds } })).map((row) => [row.id, row]),
  );
  const slugs = new Map((await models.connections.findAll()).map((row) => [row.id, row.slug]));
  const endpointSlugs = new Map((await models.endpoints.findAll()).map((row) => [row.id, row.slug]));
  const connectionRows = byVersion(await models.connectionVersions.findAll({ where: { versionId: versionIds } }));
  const endpointRows = byVersion(await models.endpointVersions.findAll({ where: { versionId: versionIds } }));
  const byId = new Map(environments.map((row) => [row.id, row]));

  /** The connections of one version; those that are the same as a known one are that one. */
  const serve = async (environment: EnvironmentRow, versionId: string, known: Known): Promise<ServedConnection[]> => {
    const served: ServedConnection[] = [];
    for (const row of connectionRows.get(versionId) ?? []) {
      const { organizationId } = environment;
      const state = stateOf.get(row.connectionId);
      const slug = slugs.get(row.connectionId) ?? "";
      const config = parseConnectionConfig(row.config);
      const name = `${organizationId}|${credentialName({ slug, ...config })}`;
      const credentialRevision = usesStored(config) ? revisions.get(name) : undefined;
      const seen = state === undefined ? null : stateMarks(state);
      const offer = config.type === "ap" ? (pieces?.served(config.adapter) ?? NO_PIECES) : undefined;
      const revision = digestOf([row.config, seen, credentialRevision, offer]);
      const same = known(row.connectionId).find((connection) => connection?.revision === revision);
      const of = { id: row.connectionId, slug, environmentId: environment.id, organizationId, config };
      served.push(
        same ??
          (await serveConnection(store, {
            ...of,
            credentialRevision,
            revision,
            ...(offer === undefined ? {} : { offer }),
          })),
      );
    }
    return served;
  };

  /** An environment as the versions of it and its ancestors say, nearest first. */
  const compose = (
    environment: EnvironmentRow,
    chain: readonly { id: string; versionId: string; connections: readonly ServedConnection[] }[],
    mark: string,
  ): ServedEnvironment | undefined => {
    const version = versions.get(chain[0]?.versionId ?? "");
    const organization = organizations.get(environment.organizationId);
    if (version === undefined || organization === undefined) return undefined;
    const visible = new Map<string, ServedConnection>();
    // Nearest first: an owned connection shadows an inherited one of the same slug.
    for (const { connections } of chain) {
      for (const connection of connections) if (!visible.has(connection.slug)) visible.set(connection.slug, connection);
    }
    const sorted = [...visible.values()].sort((a, b) => (a.slug < b.slug ? -1 : 1));
    const endpoints = (endpointRows.get(version.id) ?? []).map((row): ServedEndpoint => {
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
    });
    return {
      id: environment.id,
      slug: environment.slug,
      organizationId: organization.id,
      organizationSlug: organization.slug,
      versionId: version.id,
      revision: sha256(
        JSON.stringify([
          mark,
          chain.map(({ id, versionId }) => [id, versionId]),
          sorted.map(({ id, revision }) => [id, revision]),
        ]),
      ),
      connections: sorted,
      endpoints: endpoints.sort((a, b) => (a.slug < b.slug ? -1 : 1)),
      forbid: chain.flatMap(({ versionId }) => parseForbid(versions.get(versionId)?.forbid)),
    };
  };

  const result: Served = {
    environments: new Map(),
    connections: new Map(),
    drafts: new Map(),
    fingerprint: fingerprintOf(marks),
  };
  const owned = new Map<string, ServedConnection[]>();
  for (const environment of environments) {
    const { id, publishedVersionId } = environment;
    const own = await serve(environment, publishedVersionId ?? "", (of) => [before.connections.get(of)]);
    owned.set(id, own);
    for (const connection of own) result.connections.set(connection.id, connection);
  }
  const parents = new Map(environments.map((row) => [row.id, row.parentId]));
  const linkOf = (id: string) => ({
    id,
    versionId: byId.get(id)?.publishedVersionId ?? "",
    connections: owned.get(id) ?? [],
  });
  for (const environment of environments) {
    const served = compose(environment, ancestry(environment.id, parents).map(linkOf), "");
    if (served === undefined) continue;
    const known = before.environments.get(environment.id);
    result.environments.set(environment.id, known?.revision === served.revision ? known : served);
  }
  for (const { id: versionId, environmentId, digest, parentId } of drafts) {
    const environment = byId.get(environmentId);
    if (environment === undefined) continue;
    const drafted = before.drafts.get(environmentId)?.connections ?? [];
    // Where the draft says the same as what is served, it is the same.
    const known: Known = (of) => [result.connections.get(of), drafted.find(({ id }) => id === of)];
    const connections = await serve(environment, versionId, known);
    const ancestors = ancestry(environmentId, new Map([...parents, [environmentId, parentId]])).slice(1);
    const chain = [{ id: environmentId, versionId, connections }, ...ancestors.map(linkOf)];
    const served = compose(environment, chain, digest);
    if (served === undefined) continue;
    const same = before.drafts.get(environmentId);
    result.drafts.set(environmentId, same?.revision === served.revision ? same : served);
  }
  return result;
}

/** What is known already of a connection. */
type Known = (connectionId: string) => (ServedConnection | undefined)[];

function byVersion<Row extends { versionId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const grouped = new Map<string, Row[]>();
  for (const row of rows) {
    const group = grouped.get(row.versionId);
    if (group === undefined) grouped.set(row.versionId, [row]);
    else group.push(row);
  }
  return grouped;
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
