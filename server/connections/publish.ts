/**
 * Takes the configuration files over: they are one more author beside the people (`authoring.ts`).
 *
 * What the files declare belongs to them and what people made stays beside it; where both say the same slug the files
 * win, because they are the operator's. They are taken over when what they say changed since the last time, so that a
 * version somebody went back to is still served after a restart. Identities (environments, connections, endpoints) are
 * reused by slug, so that catalogues, tokens and names stay with them.
 */
import type { Transaction } from "sequelize";
import { JackfieldError } from "../errors.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { openEnvironment, saveDraft } from "./authoring.ts";
import {
  bySlug,
  type ConnectionItem,
  contentDigest,
  type EndpointItem,
  type EnvironmentContent,
  emptyContent,
} from "./content.ts";
import { DEFAULT_ENDPOINT } from "./default-endpoint.ts";
import { digestOf } from "./digest.ts";
import { recordEdits } from "./edits.ts";
import type { LoadedConfig, LoadedConnection, LoadedEndpoint, LoadedEnvironment } from "./files.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { endpointConfig } from "./from-file.ts";
import { identityOf } from "./identities.ts";
import { endpointFile } from "./schema.ts";
import { writePublished } from "./versions.ts";
import { problemText } from "./yaml-file.ts";

export interface Published {
  /** Environments that got a new version. */
  changed: { organization: string; environment: string; environmentId: string; number: number }[];
  /** Environments whose draft holds what the files say now; it is served when somebody publishes it. */
  drafted: { organization: string; environment: string; environmentId: string }[];
  unchanged: number;
}

/**
 * Takes a loaded configuration over in one transaction and tells every process.
 *
 * Organizations that the files do not name get their default endpoint only, and of environments whose files are gone
 * only what people made is left.
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
    const result: Published = { changed: [], drafted: [], unchanged: 0 };
    const by = { author, at: new Date(clock()) };
    const wanted = new Map(loaded.organizations.map(({ slug, environments }) => [slug, environments]));
    for (const slug of wanted.keys()) {
      await store.models.organizations.findOrCreate({ where: { slug }, defaults: { slug, name: slug }, transaction });
    }
    for (const organization of await store.models.organizations.findAll({ order: [["slug", "ASC"]], transaction })) {
      await takeOrganization(store, organization, wanted.get(organization.slug) ?? [], by, transaction, result);
    }
    return result;
  });
  for (const { environmentId } of [...published.changed, ...published.drafted]) {
    await bus.publish("environment", { environmentId });
  }
  return published;
}

type Author = { author: string; at: Date };

async function takeOrganization(
  store: Store,
  organization: { id: string; slug: string },
  declared: readonly LoadedEnvironment[],
  by: Author,
  transaction: Transaction,
  result: Published,
): Promise<void> {
  const { environments } = store.models;
  const existing = await environments.findAll({
    where: { organizationId: organization.id },
    order: [["id", "ASC"]],
    transaction,
  });
  const wanted = new Map(declared.map((environment) => [environment.slug, environment]));
  const retired = existing.filter((row) => row.retiredAt !== null).map((row) => row.slug);
  for (const slug of [FIRST_ENVIRONMENT, ...existing.map((row) => row.slug)]) {
    if (!wanted.has(slug) && !retired.includes(slug)) wanted.set(slug, nothingOf(slug));
  }
  const ids = new Map(existing.map((row) => [row.slug, row.id]));
  for (const { slug, label } of wanted.values()) {
    const id = ids.get(slug);
    if (id === undefined) {
      const name = label ?? slug;
      ids.set(slug, (await environments.create({ organizationId: organization.id, slug, name }, { transaction })).id);
    } else if (retired.includes(slug)) {
      await environments.update({ retiredAt: null, filesDigest: null }, { where: { id }, transaction });
    }
  }
  for (const environment of wanted.values()) {
    const id = ids.get(environment.slug) ?? "";
    const parentId = environment.parent === undefined ? null : (ids.get(environment.parent) ?? null);
    const about = { organization: organization.slug, environment: environment.slug, environmentId: id };
    const taken = await takeEnvironment(store, id, { ...environment, parentId }, by, transaction);
    if (taken === undefined) result.unchanged += 1;
    else if (taken === "draft") result.drafted.push(about);
    else result.changed.push({ ...about, number: taken });
  }
}

function nothingOf(slug: string): LoadedEnvironment {
  return { slug, declared: false, forbid: [], connections: [], endpoints: [] };
}

type Declared = LoadedEnvironment & { parentId: string | null };

/** @returns the number of the new version, or that a draft holds it; undefined where nothing is different */
async function takeEnvironment(
  store: Store,
  environmentId: string,
  declared: Declared,
  by: Author,
  transaction: Transaction,
): Promise<number | "draft" | undefined> {
  const filesDigest = digestOf(declared);
  const opened = await openEnvironment(store, environmentId, transaction);
  const { environment, head, publishedVersion } = opened;
  if (environment.filesDigest === filesDigest && publishedVersion !== undefined) return undefined;
  await store.models.environments.update({ filesDigest }, { where: { id: environmentId }, transaction });
  const after = await merge(store, environmentId, head, declared, transaction);
  if (publishedVersion !== undefined && contentDigest(after) === contentDigest(head)) return undefined;
  await recordEdits(store, environment, { before: head, after, ...by }, transaction);
  if (environment.draftsSince !== null && publishedVersion !== undefined) {
    await saveDraft(store, opened, after, by);
    return "draft";
  }
  return writePublished(store, environment, after, by, transaction);
}

/** What people made, with what the files declare now in place of what they declared before. */
async function merge(
  store: Store,
  environmentId: string,
  head: EnvironmentContent,
  declared: Declared,
  transaction: Transaction,
): Promise<EnvironmentContent> {
  const { connections, endpoints } = store.models;
  const { slug, label = slug, parentId, forbid } = declared;
  const fromFiles = { label, parentId, forbid, settingsOrigin: "file" as const };
  // Without a file the settings are what they were where people made them.
  const kept = head.settingsOrigin === "file" ? { ...emptyContent(slug) } : head;
  const wantedConnections: ConnectionItem[] = [];
  for (const item of declared.connections) {
    wantedConnections.push(await declaredItem(connections, environmentId, item, transaction));
  }
  const wantedEndpoints: EndpointItem[] = [];
  for (const item of declared.endpoints) {
    wantedEndpoints.push(await declaredItem(endpoints, environmentId, item, transaction));
  }
  const merged: EnvironmentContent = {
    ...kept,
    ...(declared.declared ? fromFiles : {}),
    connections: beside(head.connections, wantedConnections),
    endpoints: beside(head.endpoints, wantedEndpoints),
  };
  if (slug !== FIRST_ENVIRONMENT || merged.endpoints.some((endpoint) => endpoint.slug === DEFAULT_ENDPOINT)) {
    return merged;
  }
  const { endpoint } = endpointFile.parse({ version: 1, endpoint: { label: "Default" } });
  const implied: EndpointItem = {
    id: await identityOf(endpoints, environmentId, DEFAULT_ENDPOINT, transaction),
    slug: DEFAULT_ENDPOINT,
    config: endpointConfig(DEFAULT_ENDPOINT, endpoint),
    origin: "web",
    source: null,
  };
  return { ...merged, endpoints: bySlug([...merged.endpoints, implied]) };
}

async function declaredItem<Loaded extends LoadedConnection | LoadedEndpoint>(
  table: Parameters<typeof identityOf>[0],
  environmentId: string,
  { slug, source, config }: Loaded,
  transaction: Transaction,
): Promise<{ id: string; slug: string; config: Loaded["config"]; origin: "file"; source: string }> {
  return { id: await identityOf(table, environmentId, slug, transaction), slug, config, origin: "file", source };
}

function beside<Item extends { slug: string; origin: string }>(
  head: readonly Item[],
  declared: readonly Item[],
): Item[] {
  const slugs = new Set(declared.map(({ slug }) => slug));
  return bySlug([...head.filter(({ slug, origin }) => origin === "web" && !slugs.has(slug)), ...declared]);
}
