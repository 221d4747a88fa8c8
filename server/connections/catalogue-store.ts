/** Writes a freshly read catalogue, or the failure to read one, to the store. */
import { ulid } from "ulid";
import type { CatalogueItem, Introduction, ToolDefinition } from "../../adapters/contract.ts";
import { compileNames } from "../access/glob.ts";
import { foldName } from "../gateway/names.ts";
import type { Store } from "../store/database.ts";
import { diffCatalogue, readListed, type ToolChange } from "./catalogue-diff.ts";
import { cleanDefinition } from "./clean-definition.ts";
import { digestOf, sha256 } from "./digest.ts";
import { introductionWords } from "./introduction-words.ts";
import { ensureState } from "./memory.ts";
import type { ServedConnection } from "./types.ts";

/** Everything an upstream told about what it offers. */
export interface ListedCatalogue {
  introduction: Introduction;
  tools: ToolDefinition[];
  prompts: CatalogueItem[];
  resources: CatalogueItem[];
  templates: CatalogueItem[];
}

export interface StoredChange {
  /** Whether anything that is served may be different now. */
  changed: boolean;
  added: number;
  updated: number;
  gone: number;
}

/** Stores what was listed: one transaction, only rows that differ are written. */
export async function storeCatalogue(
  store: Store,
  connection: ServedConnection,
  catalogue: ListedCatalogue,
  now: Date,
): Promise<StoredChange> {
  const connectionId = connection.id;
  await ensureState(store, connectionId);
  return store.transaction(async (transaction) => {
    const { connectionStates, tools } = store.models;
    // Two processes that refresh at once write one after the other.
    const state = await connectionStates.findByPk(connectionId, { transaction, lock: transaction.LOCK.UPDATE });
    const known = await tools.findAll({ where: { connectionId }, transaction });
    const rows = new Map(known.map((row) => [row.upstreamName, row]));
    const { read, write, disable } = connection.access;
    // A tool that its author hides by name was looked at as well; it needs no review, and stays hidden.
    const named = compileNames([...read, ...write, ...disable]);
    const diff = diffCatalogue(connection.slug, known, readListed(catalogue.tools), {
      named,
      suggested: connection.access.suggested,
      mode: connection.review,
      firstImport: state?.catalogueAt == null,
    });
    await tools.bulkCreate(
      diff.added.map((change) => ({
        ...columns(change, now),
        connectionId,
        upstreamKey: sha256(change.upstreamName),
        upstreamName: change.upstreamName,
        name: change.name,
        nameKey: foldName(change.name),
        firstSeenAt: now,
      })),
      { transaction },
    );
    for (const change of diff.updated)
      await rows.get(change.upstreamName)?.update(columns(change, now), { transaction });
    for (const name of diff.gone) await rows.get(name)?.update({ state: "gone" }, { transaction });
    const itemsChanged = await storeItems(store, connectionId, catalogue, transaction);
    const toolsChanged = diff.added.length + diff.updated.length + diff.gone.length > 0;
    const introductionChanged = digestOf(state?.introduction) !== digestOf(catalogue.introduction);
    const first = state?.catalogueAt == null;
    const changed = toolsChanged || itemsChanged || introductionChanged || first || state.loadErrorCode !== null;
    await connectionStates.update(
      {
        health: "healthy",
        healthCode: null,
        healthMessage: introductionWords(catalogue.introduction)?.slice(0, 2000) ?? null,
        checkedAt: now,
        catalogueAt: now,
        loadErrorCode: null,
        loadErrorMessage: null,
        loadErrorAt: null,
        introduction: catalogue.introduction,
        ...(changed ? { catalogueRevision: ulid() } : {}),
      },
      { where: { connectionId }, transaction },
    );
    return { changed, added: diff.added.length, updated: diff.updated.length, gone: diff.gone.length };
  });
}

/** The columns of a listed tool; the reviewed definition moves only where this very definition is accepted. */
function columns({ listed, position, state, reviewed }: ToolChange, now: Date) {
  const { definition, hash, findings } = listed;
  return {
    position,
    definition,
    hash,
    state,
    findings: findings.length > 0 ? findings : null,
    lastSeenAt: now,
    ...(reviewed ? { reviewedDefinition: definition, reviewedHash: hash, reviewedAt: now } : {}),
  };
}

type Transaction = Parameters<Parameters<Store["transaction"]>[0]>[0];

async function storeItems(
  store: Store,
  connectionId: string,
  { prompts, resources, templates }: ListedCatalogue,
  transaction: Transaction,
): Promise<boolean> {
  const { catalogueItems } = store.models;
  const wanted = [
    ...rowsOf("prompt", "name", prompts),
    ...rowsOf("resource", "uri", resources),
    ...rowsOf("template", "uriTemplate", templates),
  ];
  const stored = await catalogueItems.findAll({ where: { connectionId }, transaction });
  const marks = (items: readonly { kind: string; position: number; definition: CatalogueItem }[]) =>
    items.map(({ kind, position, definition }) => `${kind} ${position} ${digestOf(definition)}`).sort();
  if (digestOf(marks(stored)) === digestOf(marks(wanted))) return false;
  await catalogueItems.destroy({ where: { connectionId }, transaction });
  await catalogueItems.bulkCreate(
    wanted.map((item) => ({ ...item, connectionId })),
    { transaction },
  );
  return true;
}

function rowsOf(kind: "prompt" | "resource" | "template", key: string, items: readonly CatalogueItem[]) {
  const seen = new Map<string, { kind: typeof kind; position: number; itemKey: string; definition: CatalogueItem }>();
  for (const item of items) {
    const name = item[key];
    if (typeof name !== "string" || name === "" || seen.has(name)) continue;
    const { definition } = cleanDefinition(item);
    seen.set(name, { kind, position: seen.size, itemKey: sha256(name), definition });
  }
  return [...seen.values()];
}

/**
 * Stores that a load failed; the stored catalogue stays as it is.
 * @returns whether what is served is different now
 */
export async function storeLoadError(
  store: Store,
  connectionId: string,
  failure: { code: string; message: string },
  now: Date,
): Promise<boolean> {
  await ensureState(store, connectionId);
  const { connectionStates } = store.models;
  const before = await connectionStates.findByPk(connectionId);
  const loadErrorCode = failure.code.slice(0, 64);
  const loadErrorMessage = failure.message.slice(0, 2000);
  await connectionStates.update(
    {
      health: "unhealthy",
      healthCode: loadErrorCode,
      healthMessage: loadErrorMessage,
      checkedAt: now,
      loadErrorCode,
      loadErrorMessage,
      loadErrorAt: now,
    },
    { where: { connectionId } },
  );
  return before?.loadErrorCode !== loadErrorCode || before.loadErrorMessage !== loadErrorMessage;
}

/** Stores that a connection cannot be tested: there is no credential to do it with. */
export async function storeUntested(store: Store, connectionId: string): Promise<void> {
  await ensureState(store, connectionId);
  await store.models.connectionStates.update(
    { health: "untested", healthCode: null, healthMessage: null },
    { where: { connectionId, health: ["healthy", "unhealthy"] } },
  );
}

/** Patterns of a person over upstream names, e.g. of `connection review --accept`. @throws GlobError */
export function compileAccept(pattern: string): (upstreamName: string) => boolean {
  return compileNames([pattern]);
}
