/** Versions of environments in the store: reading one, writing one, and letting old ones go. */
import type { Transaction } from "sequelize";
import { ulid } from "ulid";
import type { JsonObject } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { EnvironmentVersionRow } from "../store/models/environment-versions.ts";
import type { EnvironmentRow } from "../store/models/environments.ts";
import { bySlug, type ContentItem, contentDigest, type EnvironmentContent, emptyContent } from "./content.ts";
import { canonicalJson } from "./digest.ts";
import { parseConnectionConfig, parseEndpointConfig, parseForbid } from "./stored-config.ts";

/** Versions that were served once and are kept to roll back to, beside the one that is served. */
export const KEPT_VERSIONS = 20;
/** The number of an environment's draft: one at most, because numbers are unique. */
const DRAFT_NUMBER = 0;
const ROWS_AT_ONCE = 500;

export type Version = Pick<
  EnvironmentVersionRow,
  "id" | "environmentId" | "number" | "state" | "digest" | "author" | "createdAt" | "publishedAt" | "note"
>;

type Rows = Pick<EnvironmentVersionRow, "id" | "forbid" | "label" | "parentId" | "settingsOrigin">;

/** The draft of an environment; undefined where nothing waits. */
export async function draftOf(
  store: Store,
  environmentId: string,
  transaction: Transaction,
): Promise<EnvironmentVersionRow | undefined> {
  const where = { environmentId, state: "draft" as const };
  return (await store.models.environmentVersions.findOne({ where, transaction }))?.get({ plain: true });
}

/** What a version holds. */
export async function readContent(
  store: Store,
  environment: Pick<EnvironmentRow, "name" | "parentId">,
  version: Rows,
  transaction: Transaction,
): Promise<EnvironmentContent> {
  const { models } = store;
  const where = { versionId: version.id };
  const connections = await models.connectionVersions.findAll({ where, transaction });
  const endpoints = await models.endpointVersions.findAll({ where, transaction });
  const ids = {
    connections: connections.map((row) => row.connectionId),
    endpoints: endpoints.map((r) => r.endpointId),
  };
  const slugs = new Map<string, string>();
  for (const row of await models.connections.findAll({ where: { id: ids.connections }, transaction }))
    slugs.set(row.id, row.slug);
  for (const row of await models.endpoints.findAll({ where: { id: ids.endpoints }, transaction }))
    slugs.set(row.id, row.slug);
  // Versions from before settings were part of them took them from the files.
  const before = version.settingsOrigin === null;
  return {
    label: version.label ?? environment.name,
    parentId: before ? environment.parentId : version.parentId,
    forbid: parseForbid(version.forbid),
    settingsOrigin: version.settingsOrigin === "web" ? "web" : "file",
    connections: bySlug(
      connections.map((row) => ({
        id: row.connectionId,
        slug: slugs.get(row.connectionId) ?? "",
        config: parseConnectionConfig(row.config),
        origin: row.origin,
        source: row.source,
      })),
    ),
    endpoints: bySlug(
      endpoints.map((row) => ({
        id: row.endpointId,
        slug: slugs.get(row.endpointId) ?? "",
        config: parseEndpointConfig(row.config),
        origin: row.origin,
        source: row.source,
      })),
    ),
  };
}

/** What is served now; nothing where the environment never was. */
export async function readPublished(
  store: Store,
  environment: EnvironmentRow,
  transaction: Transaction,
): Promise<{ content: EnvironmentContent; version: EnvironmentVersionRow | undefined }> {
  const id = environment.publishedVersionId;
  const version = id === null ? null : await store.models.environmentVersions.findByPk(id, { transaction });
  if (version === null) return { content: emptyContent(environment.name), version: undefined };
  const row = version.get({ plain: true });
  return { content: await readContent(store, environment, row, transaction), version: row };
}

export interface NewVersion {
  author: string;
  at: Date;
  note?: string;
}

/** Makes content the served version of an environment. @returns its number */
export async function writePublished(
  store: Store,
  environment: EnvironmentRow,
  content: EnvironmentContent,
  { author, at, note }: NewVersion,
  transaction: Transaction,
): Promise<number> {
  const { environments, environmentVersions } = store.models;
  const environmentId = environment.id;
  const last = await environmentVersions.findOne({
    where: { environmentId },
    order: [["number", "DESC"]],
    transaction,
  });
  const number = (last?.number ?? 0) + 1;
  const id = ulid();
  await environmentVersions.update(
    { state: "superseded" },
    { where: { environmentId, state: "published" }, transaction },
  );
  const dates = { createdAt: at, publishedAt: at };
  await environmentVersions.create(
    { id, environmentId, number, state: "published", author, note: note ?? null, ...dates, ...columns(content) },
    { transaction },
  );
  await forgetMemories(store, environment, content, transaction);
  await writeRows(store, id, content, transaction);
  await environments.update(
    { publishedVersionId: id, parentId: content.parentId, name: content.label },
    { where: { id: environmentId }, transaction },
  );
  await prune(store, environmentId, transaction);
  return number;
}

/** Writes the draft of an environment, only the rows of it that differ from what `before` held. */
export async function writeDraft(
  store: Store,
  environmentId: string,
  draft: { row: EnvironmentVersionRow; before: EnvironmentContent } | undefined,
  content: EnvironmentContent,
  { author, at }: NewVersion,
  transaction: Transaction,
): Promise<void> {
  const { environmentVersions } = store.models;
  if (draft === undefined) {
    const id = ulid();
    const version = { id, environmentId, number: DRAFT_NUMBER, author, createdAt: at, publishedAt: null };
    await environmentVersions.create({ ...version, state: "draft", ...columns(content) }, { transaction });
    await writeRows(store, id, content, transaction);
    return;
  }
  const { row, before } = draft;
  await environmentVersions.update({ author, ...columns(content) }, { where: { id: row.id }, transaction });
  const { connectionVersions, endpointVersions } = store.models;
  const connections = changedItems(before.connections, content.connections);
  const endpoints = changedItems(before.endpoints, content.endpoints);
  await connectionVersions.destroy({ where: { versionId: row.id, connectionId: connections.ids }, transaction });
  await endpointVersions.destroy({ where: { versionId: row.id, endpointId: endpoints.ids }, transaction });
  const rest = { connections: connections.written, endpoints: endpoints.written };
  await writeRows(store, row.id, { ...content, ...rest }, transaction);
}

/** Removes a version and what hangs on it. */
export async function dropVersion(store: Store, id: string | string[], transaction: Transaction): Promise<void> {
  const { environmentVersions, connectionVersions, endpointVersions } = store.models;
  await connectionVersions.destroy({ where: { versionId: id }, transaction });
  await endpointVersions.destroy({ where: { versionId: id }, transaction });
  await environmentVersions.destroy({ where: { id }, transaction });
}

function columns(content: EnvironmentContent) {
  const { label, parentId, forbid, settingsOrigin } = content;
  return { digest: contentDigest(content), label, parentId, forbid, settingsOrigin };
}

async function writeRows(
  store: Store,
  versionId: string,
  { connections, endpoints }: Pick<EnvironmentContent, "connections" | "endpoints">,
  transaction: Transaction,
): Promise<void> {
  const { connectionVersions, endpointVersions } = store.models;
  for (let at = 0; at < connections.length; at += ROWS_AT_ONCE) {
    const rows = connections.slice(at, at + ROWS_AT_ONCE).map(({ id, config, origin, source }) => {
      const { type, label } = config;
      return { versionId, connectionId: id, type, label, config: jsonOf(config), origin, source };
    });
    await connectionVersions.bulkCreate(rows, { transaction });
  }
  for (let at = 0; at < endpoints.length; at += ROWS_AT_ONCE) {
    const rows = endpoints.slice(at, at + ROWS_AT_ONCE).map(({ id, config, origin, source }) => {
      return { versionId, endpointId: id, label: config.label, config: jsonOf(config), origin, source };
    });
    await endpointVersions.bulkCreate(rows, { transaction });
  }
}

function jsonOf(config: object): JsonObject {
  return { ...config };
}

function changedItems<Config>(before: readonly ContentItem<Config>[], after: readonly ContentItem<Config>[]) {
  const marks = new Map(before.map((item) => [item.id, canonicalJson(item)]));
  const written = after.filter((item) => marks.get(item.id) !== canonicalJson(item));
  const present = new Set(after.map(({ id }) => id));
  const gone = before.filter(({ id }) => !present.has(id));
  return { written, ids: [...written, ...gone].map(({ id }) => id) };
}

/** What an adapter remembers of its upstream (such as the negotiated era) does not hold for another address. */
async function forgetMemories(
  store: Store,
  environment: EnvironmentRow,
  content: EnvironmentContent,
  transaction: Transaction,
): Promise<void> {
  const versionId = environment.publishedVersionId;
  if (versionId === null) return;
  const rows = await store.models.connectionVersions.findAll({ where: { versionId }, transaction });
  const adapters = new Map(rows.map((row) => [row.connectionId, canonicalJson(row.config["adapter"])]));
  const moved = content.connections.filter(({ id, config }) => {
    const before = adapters.get(id);
    return before !== undefined && before !== canonicalJson(config.adapter);
  });
  if (moved.length === 0) return;
  const where = { connectionId: moved.map(({ id }) => id) };
  await store.models.connectionStates.update({ memory: null }, { where, transaction });
}

async function prune(store: Store, environmentId: string, transaction: Transaction): Promise<void> {
  const superseded = await store.models.environmentVersions.findAll({
    attributes: ["id"],
    where: { environmentId, state: "superseded" },
    order: [["number", "DESC"]],
    transaction,
  });
  const old = superseded.slice(KEPT_VERSIONS).map(({ id }) => id);
  if (old.length > 0) await dropVersion(store, old, transaction);
}
