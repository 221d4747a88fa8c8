/** The record of edits: who changed what, so that two editors of one thing learn of each other. */
import { Op, type Transaction } from "sequelize";
import { ulid } from "ulid";
import type { JsonObject } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import type { ConfigurationEditRow } from "../store/models/configuration-edits.ts";
import { type ContentItem, type EnvironmentContent, revisionOf, settingsOf } from "./content.ts";
import { type Difference, differences } from "./difference.ts";
import { canonicalJson } from "./digest.ts";

/** The author of what the configuration files say. */
export const FILES = "files";

/** Edits kept of one environment. */
const KEPT_EDITS = 2000;
/** How far back the state that somebody edited is looked for. */
const LOOK_BACK = 100;

/** What `data` of an `edit_conflict` holds. */
export interface Conflict {
  /** The revision to save against now. */
  revision: string;
  /** The state that is there now. */
  current: unknown;
  /** From the state that was edited to the one that is there; absent where that state is not known any more. */
  changes?: Difference[];
  /** Who changed it since, newest first. */
  edits: { author: string; at: Date }[];
}

type Kind = ConfigurationEditRow["kind"];

/** Writes down what differs between two states of an environment. */
export async function recordEdits(
  store: Store,
  environment: { id: string; slug: string },
  { before, after, author, at }: { before: EnvironmentContent; after: EnvironmentContent; author: string; at: Date },
  transaction: Transaction,
): Promise<void> {
  const { configurationEdits } = store.models;
  const rows = [
    ...itemEdits("connection", before.connections, after.connections),
    ...itemEdits("endpoint", before.endpoints, after.endpoints),
  ];
  if (canonicalJson(settingsOf(before)) !== canonicalJson(settingsOf(after))) {
    const { slug } = environment;
    rows.push({ kind: "environment", slug, before: { ...settingsOf(before) }, after: { ...settingsOf(after) } });
  }
  if (rows.length === 0) return;
  const common = { environmentId: environment.id, author, at };
  await configurationEdits.bulkCreate(
    rows.map((row) => ({ ...row, ...common, id: ulid() })),
    { transaction },
  );
  const [oldest] = await configurationEdits.findAll({
    attributes: ["id"],
    where: { environmentId: environment.id },
    order: [["id", "DESC"]],
    offset: KEPT_EDITS,
    limit: 1,
    transaction,
  });
  if (oldest === undefined) return;
  const where = { environmentId: environment.id, id: { [Op.lte]: oldest.id } };
  await configurationEdits.destroy({ where, transaction });
}

/** The newest edits of an environment, newest first. */
export async function listEdits(
  store: Store,
  environmentId: string,
  { kind, slug, limit = 100 }: { kind?: Kind; slug?: string; limit?: number } = {},
): Promise<(Omit<ConfigurationEditRow, "before" | "after"> & { changes: Difference[] })[]> {
  const where = { environmentId, ...(kind && { kind }), ...(slug && { slug }) };
  const rows = await store.models.configurationEdits.findAll({ where, order: [["id", "DESC"]], limit });
  return rows.map((row) => {
    const { before, after, ...edit } = row.get({ plain: true });
    return { ...edit, changes: differences(before ?? undefined, after ?? undefined) };
  });
}

/**
 * Refuses an edit of a state that is not there any more.
 * @param revision of the state that was edited; undefined: whatever is there is meant
 * @throws JackfieldError `edit_conflict`, whose data is a `Conflict`
 */
export async function checkRevision(
  store: Store,
  environmentId: string,
  item: { kind: Kind; slug: string; current: object },
  revision: string | undefined,
  transaction: Transaction,
): Promise<void> {
  const { kind, slug, current } = item;
  if (revision === undefined || revision === revisionOf(current)) return;
  const since = await store.models.configurationEdits.findAll({
    where: { environmentId, kind, slug },
    order: [["id", "DESC"]],
    limit: LOOK_BACK,
    transaction,
  });
  const found = since.findIndex(({ before }) => before !== null && revisionOf(before) === revision);
  const base = found < 0 ? undefined : since[found]?.before;
  const edits = since.slice(0, found < 0 ? 1 : found + 1).map(({ author, at }) => ({ author, at }));
  const data: Conflict = {
    revision: revisionOf(current),
    current,
    ...(base ? { changes: differences(base, current) } : {}),
    edits,
  };
  const [last] = edits;
  const who = last === undefined ? "Somebody" : last.author;
  throw new JackfieldError("edit_conflict", {
    text: `${who} changed this ${kind} in the meantime. Look at what changed, and save against that.`,
    data,
  });
}

function itemEdits(
  kind: Kind,
  before: readonly ContentItem<object>[],
  after: readonly ContentItem<object>[],
): { kind: Kind; slug: string; before: JsonObject | null; after: JsonObject | null }[] {
  const olds = new Map(before.map(({ slug, config }) => [slug, config]));
  const news = new Map(after.map(({ slug, config }) => [slug, config]));
  return [...new Set([...olds.keys(), ...news.keys()])].flatMap((slug) => {
    const was = olds.get(slug);
    const is = news.get(slug);
    if (canonicalJson(was) === canonicalJson(is)) return [];
    return [{ kind, slug, before: was === undefined ? null : { ...was }, after: is === undefined ? null : { ...is } }];
  });
}
