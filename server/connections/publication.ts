/** Publishing what waits, what it would change, and going back to what was served before. */
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import { type Authoring, type Opened, openEnvironment } from "./authoring.ts";
import { type ContentItem, contentDigest, type EnvironmentContent } from "./content.ts";
import { type ContentProblem, contentProblems, refuseErrors } from "./content-checks.ts";
import { type Difference, differences } from "./difference.ts";
import { canonicalJson } from "./digest.ts";
import { FILES, recordEdits } from "./edits.ts";
import { connectionWords, endpointWords } from "./to-file.ts";
import { dropVersion, readContent, type Version, writePublished } from "./versions.ts";

/** What differs of one connection or endpoint, in the words of files. */
export interface ItemDifference {
  slug: string;
  change: "added" | "removed" | "changed";
  origin: "file" | "web";
  source: string | null;
  differences: Difference[];
}

export interface ContentDifference {
  settings: Difference[];
  connections: ItemDifference[];
  endpoints: ItemDifference[];
}

/** One state of an environment: what is served, what waits, or a version by its number. */
export type StateName = "published" | "draft" | number;

/** All versions that are kept, newest first; a draft is the first of them. */
export async function listVersions(store: Store, environmentId: string): Promise<Version[]> {
  const rows = await store.models.environmentVersions.findAll({
    where: { environmentId },
    order: [
      ["createdAt", "DESC"],
      ["number", "DESC"],
    ],
  });
  const versions = rows.map((row): Version => {
    const { id, number, state, digest, author, createdAt, publishedAt, note } = row;
    return { id, environmentId, number, state, digest, author, createdAt, publishedAt, note };
  });
  return [...versions.filter(({ state }) => state === "draft"), ...versions.filter(({ state }) => state !== "draft")];
}

/**
 * What differs between two states of an environment, and what stands in the way of the later one.
 * @throws JackfieldError `not_found` where there is no such environment or version
 */
export async function diffVersions(
  store: Store,
  environmentId: string,
  { from = "published", to = "draft" }: { from?: StateName; to?: StateName } = {},
): Promise<{ difference: ContentDifference; problems: ContentProblem[] }> {
  return store.transaction(async (transaction) => {
    const opened = await openEnvironment(store, environmentId, transaction);
    const before = await stateOf(store, opened, from);
    const after = await stateOf(store, opened, to);
    return { difference: contentDifference(before, after), problems: await contentProblems(store, opened, after) };
  });
}

export interface Publication {
  environmentId: string;
  number: number;
  problems: ContentProblem[];
}

/**
 * Serves what waits in the draft, all of it at once.
 * @param digest of the draft that was looked at; another one since then is refused
 * @throws JackfieldError `nothing_to_publish`, `edit_conflict`, `invalid_entry` with what stands in the way
 */
export async function publishDraft(
  { store, bus, clock }: Authoring,
  change: { environmentId: string; author: string; note?: string | undefined; digest?: string | undefined },
): Promise<Publication> {
  const { environmentId, author, note, digest } = change;
  const published = await store.transaction(async (transaction): Promise<Publication> => {
    const opened = await openEnvironment(store, environmentId, transaction);
    const { environment, draft } = opened;
    if (draft === undefined) throw new JackfieldError("nothing_to_publish");
    if (digest !== undefined && digest !== draft.row.digest) {
      const text = `${draft.row.author} changed the draft in the meantime. Look at the difference again.`;
      throw new JackfieldError("edit_conflict", { text, data: { digest: draft.row.digest } });
    }
    const problems = await contentProblems(store, opened, draft.content);
    refuseErrors(problems);
    await dropVersion(store, draft.row.id, transaction);
    const by = { author, at: new Date(clock()), ...(note === undefined ? {} : { note }) };
    const number = await writePublished(store, environment, draft.content, by, transaction);
    return { environmentId, number, problems };
  });
  await bus.publish("environment", { environmentId });
  return published;
}

/** Throws away what waits. False where nothing does. */
export async function discardDraft(
  { store, bus, clock }: Authoring,
  { environmentId, author }: { environmentId: string; author: string },
): Promise<boolean> {
  const discarded = await store.transaction(async (transaction) => {
    const { environment, draft, published } = await openEnvironment(store, environmentId, transaction);
    if (draft === undefined) return false;
    const states = { before: draft.content, after: published, author, at: new Date(clock()) };
    await recordEdits(store, environment, states, transaction);
    await dropVersion(store, draft.row.id, transaction);
    // What the files say waits again when they are read the next time.
    await store.models.environments.update({ filesDigest: null }, { where: { id: environmentId }, transaction });
    return true;
  });
  if (discarded) await bus.publish("environment", { environmentId });
  return discarded;
}

/**
 * Serves an earlier version again, as a new one. A draft stays as it is.
 *
 * What starts a process comes from the files alone, so a version that would start something that they do not declare
 * now is refused.
 * @throws JackfieldError `not_found`, `invalid_entry` where that version cannot be served any more
 */
export async function rollBack(
  { store, bus, clock }: Authoring,
  { environmentId, number, author }: { environmentId: string; number: number; author: string },
): Promise<Publication> {
  const published = await store.transaction(async (transaction): Promise<Publication> => {
    const opened = await openEnvironment(store, environmentId, transaction);
    const { environment, draft } = opened;
    const content = await stateOf(store, opened, number);
    if (contentDigest(content) === contentDigest(opened.published)) {
      throw new JackfieldError("nothing_to_publish", { text: `What is served is what version ${number} holds.` });
    }
    const foreign = await foreignCommands(store, opened, content);
    const problems = [...(await contentProblems(store, opened, content)), ...foreign];
    refuseErrors(problems);
    const by = { author, at: new Date(clock()), note: `rollback to ${number}` };
    if (draft === undefined) {
      const states = { before: opened.published, after: content, author, at: by.at };
      await recordEdits(store, environment, states, transaction);
    } else if (contentDigest(draft.content) === contentDigest(content)) {
      await dropVersion(store, draft.row.id, transaction);
    }
    const served = await writePublished(store, environment, content, by, transaction);
    return { environmentId, number: served, problems };
  });
  await bus.publish("environment", { environmentId });
  return published;
}

/** What differs, in the words of files, sorted by slug. */
export function contentDifference(before: EnvironmentContent, after: EnvironmentContent): ContentDifference {
  const settings = ({ label, parentId, forbid }: EnvironmentContent) => ({ label, parentId, forbid });
  return {
    settings: differences(settings(before), settings(after)),
    connections: itemDifferences(before.connections, after.connections, connectionWords),
    endpoints: itemDifferences(before.endpoints, after.endpoints, endpointWords),
  };
}

function itemDifferences<Config>(
  before: readonly ContentItem<Config>[],
  after: readonly ContentItem<Config>[],
  words: (slug: string, config: Config) => object,
): ItemDifference[] {
  const olds = new Map(before.map((item) => [item.slug, item]));
  const news = new Map(after.map((item) => [item.slug, item]));
  return [...new Set([...olds.keys(), ...news.keys()])].sort().flatMap((slug): ItemDifference[] => {
    const was = olds.get(slug);
    const is = news.get(slug);
    const { origin = "web", source = null } = is ?? was ?? {};
    const found = differences(was && words(slug, was.config), is && words(slug, is.config));
    if (found.length === 0) return [];
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    return [{ slug, change, origin, source, differences: found }];
  });
}

async function stateOf(store: Store, opened: Opened, name: StateName): Promise<EnvironmentContent> {
  const { environment, transaction } = opened;
  if (name === "published") return opened.published;
  if (name === "draft") return opened.head;
  const where = { environmentId: environment.id, number: name };
  const row = await store.models.environmentVersions.findOne({ where, transaction });
  if (row === null || row.state === "draft") {
    throw new JackfieldError("not_found", { text: `There is no version ${name}, or it is not kept any more.` });
  }
  return readContent(store, environment, row.get({ plain: true }), transaction);
}

/** Connections that start a process in another way than the files said last. */
async function foreignCommands(
  store: Store,
  { environment, head, transaction }: Opened,
  content: EnvironmentContent,
): Promise<ContentProblem[]> {
  const problems: ContentProblem[] = [];
  for (const { slug, config } of content.connections) {
    if (config.adapter["command"] === undefined) continue;
    const wanted = canonicalJson(config.adapter);
    const now = head.connections.find((item) => item.slug === slug && item.origin === "file");
    if (now !== undefined && canonicalJson(now.config.adapter) === wanted) continue;
    const where = { environmentId: environment.id, kind: "connection" as const, slug, author: FILES };
    const edit = await store.models.configurationEdits.findOne({ where, order: [["id", "DESC"]], transaction });
    if (edit?.after != null && canonicalJson(edit.after["adapter"]) === wanted) continue;
    const message = "starts a process that no configuration file declares like this now";
    problems.push({ level: "error", kind: "connection", slug, path: "command", message });
  }
  return problems;
}
