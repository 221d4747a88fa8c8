/**
 * Makes a configuration that was read from files the published version of its environments.
 *
 * What an environment serves hangs on the rows of one version; identities (environments, connections, endpoints) are
 * reused by slug, so that catalogues, tokens and names stay with them. Publishing the same content again changes
 * nothing.
 */
import type { Transaction } from "sequelize";
import { ulid } from "ulid";
import type { JsonObject } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { canonicalJson, digestOf } from "./digest.ts";
import type { LoadedConfig, LoadedEndpoint, LoadedEnvironment } from "./files.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { endpointConfig } from "./from-file.ts";
import { endpointFile } from "./schema.ts";
import { problemText } from "./yaml-file.ts";

/** The endpoint that every organization's first environment has, declared or not: `/mcp`. */
export const DEFAULT_ENDPOINT = "default";

export interface Published {
  /** Environments that got a new version. */
  changed: { organization: string; environment: string; environmentId: string; number: number }[];
  unchanged: number;
}

/**
 * Publishes a loaded configuration in one transaction and tells every process.
 *
 * Organizations that the files do not name get their default endpoint only, and environments whose files are gone
 * serve nothing any more.
 *
 * @param author recorded with the version, e.g. `files`
 * @throws JackfieldError `config_invalid` with every error, where the configuration has one: nothing is changed then
 */
export async function publishConfig(
  { store, bus }: { store: Store; bus: Bus },
  loaded: LoadedConfig,
  author: string,
  clock: () => number = Date.now,
): Promise<Published> {
  if (loaded.errors.length > 0) {
    throw new JackfieldError("config_invalid", { text: loaded.errors.map(problemText).join("\n") });
  }
  const published = await store.transaction(async (transaction) => {
    const result: Published = { changed: [], unchanged: 0 };
    const wanted = new Map(loaded.organizations.map(({ slug, environments }) => [slug, environments]));
    for (const slug of wanted.keys()) {
      await store.models.organizations.findOrCreate({ where: { slug }, defaults: { slug, name: slug }, transaction });
    }
    for (const organization of await store.models.organizations.findAll({ order: [["slug", "ASC"]], transaction })) {
      const environments = wanted.get(organization.slug) ?? [];
      await publishOrganization(store, transaction, organization, environments, author, clock, result);
    }
    return result;
  });
  for (const { environmentId } of published.changed) await bus.publish("environment", { environmentId });
  return published;
}

async function publishOrganization(
  store: Store,
  transaction: Transaction,
  organization: { id: string; slug: string },
  declared: readonly LoadedEnvironment[],
  author: string,
  clock: () => number,
  result: Published,
): Promise<void> {
  const { environments } = store.models;
  const existing = await environments.findAll({ where: { organizationId: organization.id }, transaction });
  const wanted = new Map(declared.map((environment) => [environment.slug, environment]));
  for (const slug of [FIRST_ENVIRONMENT, ...existing.map((row) => row.slug)]) {
    if (!wanted.has(slug)) wanted.set(slug, { slug, forbid: [], connections: [], endpoints: [] });
  }
  const ids = new Map(existing.map((row) => [row.slug, row.id]));
  for (const { slug, label } of wanted.values()) {
    if (ids.has(slug)) continue;
    const row = await environments.create(
      { organizationId: organization.id, slug, name: label ?? slug },
      { transaction },
    );
    ids.set(slug, row.id);
  }
  for (const environment of wanted.values()) {
    const id = ids.get(environment.slug) ?? "";
    const parentId = environment.parent === undefined ? null : (ids.get(environment.parent) ?? null);
    const number = await publishEnvironment(store, transaction, id, parentId, withDefault(environment), author, clock);
    if (number === undefined) {
      result.unchanged += 1;
      continue;
    }
    result.changed.push({ organization: organization.slug, environment: environment.slug, environmentId: id, number });
  }
}

function withDefault(environment: LoadedEnvironment): LoadedEnvironment {
  const has = environment.endpoints.some(({ slug }) => slug === DEFAULT_ENDPOINT);
  if (environment.slug !== FIRST_ENVIRONMENT || has) return environment;
  const { endpoint } = endpointFile.parse({ version: 1, endpoint: { label: "Default" } });
  const implied: LoadedEndpoint = {
    slug: DEFAULT_ENDPOINT,
    source: "",
    config: endpointConfig(DEFAULT_ENDPOINT, endpoint),
  };
  return { ...environment, endpoints: [...environment.endpoints, implied] };
}

/** @returns the number of the new version; undefined where the published one has the same content */
async function publishEnvironment(
  store: Store,
  transaction: Transaction,
  environmentId: string,
  parentId: string | null,
  environment: LoadedEnvironment,
  author: string,
  clock: () => number,
): Promise<number | undefined> {
  const { environments, environmentVersions, connectionVersions, endpointVersions } = store.models;
  const row = await environments.findByPk(environmentId, { transaction, lock: transaction.LOCK.UPDATE });
  const previous =
    row?.publishedVersionId == null
      ? null
      : await environmentVersions.findByPk(row.publishedVersionId, { transaction });
  const { forbid, connections, endpoints } = environment;
  const digest = digestOf({ parentId, forbid, connections, endpoints });
  if (previous?.digest === digest) return undefined;

  const now = new Date(clock());
  const last = await environmentVersions.findOne({
    where: { environmentId },
    order: [["number", "DESC"]],
    transaction,
  });
  const number = (last?.number ?? 0) + 1;
  const version = { id: ulid(), environmentId, number, digest, forbid, author, createdAt: now, publishedAt: now };
  if (previous) await previous.update({ state: "superseded" }, { transaction });
  await environmentVersions.create({ ...version, state: "published" }, { transaction });
  for (const { slug, source, config } of connections) {
    const connectionId = await identity(store.models.connections, environmentId, slug, transaction);
    await forgetMemoryOfOther(store, transaction, connectionId, previous?.id, config.adapter);
    const { type, label } = config;
    await connectionVersions.create(
      { versionId: version.id, connectionId, type, label, config: { ...config }, origin: "file", source },
      { transaction },
    );
  }
  for (const { slug, source, config } of endpoints) {
    const endpointId = await identity(store.models.endpoints, environmentId, slug, transaction);
    await endpointVersions.create(
      {
        versionId: version.id,
        endpointId,
        label: config.label,
        config: { ...config },
        origin: "file",
        source: source || null,
      },
      { transaction },
    );
  }
  const named = environment.label === undefined ? {} : { name: environment.label };
  await environments.update(
    { publishedVersionId: version.id, parentId, ...named },
    { where: { id: environmentId }, transaction },
  );
  return number;
}

async function identity(
  table: Store["models"]["connections"] | Store["models"]["endpoints"],
  environmentId: string,
  slug: string,
  transaction: Transaction,
): Promise<string> {
  const where = { environmentId, slug };
  const known = await table.findOne({ where, transaction });
  return known === null ? (await table.create(where, { transaction })).id : known.id;
}

/** What an adapter remembers of its upstream (such as the negotiated era) does not hold for another address. */
async function forgetMemoryOfOther(
  store: Store,
  transaction: Transaction,
  connectionId: string,
  previousVersionId: string | undefined,
  adapter: JsonObject,
): Promise<void> {
  if (previousVersionId === undefined) return;
  const where = { versionId: previousVersionId, connectionId };
  const previous = await store.models.connectionVersions.findOne({ where, transaction });
  if (previous === null || canonicalJson(previous.config["adapter"]) === canonicalJson(adapter)) return;
  await store.models.connectionStates.update({ memory: null }, { where: { connectionId }, transaction });
}
