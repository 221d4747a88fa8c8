/** Writes a freshly read catalogue, or the failure to read one, to the store. */
import { ulid } from "ulid";
import type { CatalogueItem, Introduction, ToolDefinition } from "../../adapters/contract.ts";
import { compileNames } from "../access/glob.ts";
import type { Store } from "../store/database.ts";
import { readListed } from "./catalogue-diff.ts";
import { type ChangedTools, storeTools } from "./catalogue-tools.ts";
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
  tools: ChangedTools;
}

/**
 * Stores what was listed; only rows that differ are written. Tools come first, in small steps; that they are complete
 * is what the last step says.
 */
export async function storeCatalogue(
  store: Store,
  connection: ServedConnection,
  catalogue: ListedCatalogue,
  now: Date,
): Promise<StoredChange> {
  const connectionId = connection.id;
  const { connectionStates } = store.models;
  await ensureState(store, connectionId);
  const { read, write, disable, suggested } = connection.access;
  const before = await connectionStates.findByPk(connectionId, { attributes: ["catalogueAt"] });
  const rules = {
    // A tool that its author hides by name was looked at as well; it needs no review, and stays hidden.
    named: compileNames([...read, ...write, ...disable]),
    suggested,
    mode: connection.review,
    firstImport: before?.catalogueAt == null,
  };
  const listed = await readListed(catalogue.tools);
  const tools = await storeTools(store, { connectionId, slug: connection.slug }, listed, { rules, now });
  return store.transaction(async (transaction) => {
    const state = await connectionStates.findByPk(connectionId, {
      attributes: { exclude: ["memory"] },
      transaction,
      lock: transaction.LOCK.UPDATE,
    });
    const itemsChanged = await storeItems(store, connectionId, catalogue, transaction);
    const toolsChanged = tools.added.length + tools.updated.length + tools.gone.length > 0;
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
    return { changed, tools };
  });
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
