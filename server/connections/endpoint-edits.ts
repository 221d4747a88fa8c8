/** Endpoints that people make, change and delete. */
import type { JsonObject } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import { type Authoring, editEnvironment, type Opened, type Saved } from "./authoring.ts";
import { checkSlug, declaredInFile } from "./connection-edits.ts";
import { type EndpointItem, revisionOf, withItem } from "./content.ts";
import { DEFAULT_ENDPOINT } from "./default-endpoint.ts";
import { checkRevision } from "./edits.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { identityOf } from "./identities.ts";
import { endpointWords } from "./to-file.ts";
import type { EndpointConfig } from "./types.ts";
import { enteredEndpoint } from "./web-words.ts";

/** An endpoint as an editor sees it. */
export interface EditableEndpoint {
  id: string;
  slug: string;
  environmentId: string;
  /** In the words of a file under `endpoint:`. */
  words: JsonObject;
  config: EndpointConfig;
  origin: "file" | "web";
  source: string | null;
  /** To be handed back when it is saved. */
  revision: string;
}

export interface SavedEndpoint extends Saved {
  endpoint: EditableEndpoint;
}

/**
 * Makes an endpoint.
 * @param entered in the words of a file under `endpoint:`
 * @throws JackfieldError `invalid_entry`, `slug_taken`, `not_found` where there is no such environment
 */
export async function createEndpoint(
  parts: Authoring,
  { environmentId, slug, entered, author }: { environmentId: string; slug: string; entered: unknown; author: string },
): Promise<SavedEndpoint> {
  checkSlug(slug);
  const config = enteredEndpoint(slug, entered);
  let made: EndpointItem | undefined;
  const saved = await editEnvironment(parts, environmentId, author, async ({ head, transaction }) => {
    if (head.endpoints.some((endpoint) => endpoint.slug === slug)) {
      throw new JackfieldError("slug_taken", { text: `There is an endpoint ${slug} in this environment already.` });
    }
    const id = await identityOf(parts.store.models.endpoints, environmentId, slug, transaction);
    made = { id, slug, config, origin: "web", source: null };
    return { ...head, endpoints: withItem(head.endpoints, made) };
  });
  return withEndpoint(saved, environmentId, made);
}

/**
 * Changes an endpoint that people made; its slug, and so its address, stays.
 * @param entered all of it, in the words of a file under `endpoint:`
 * @throws JackfieldError `invalid_entry`, `edit_conflict`, `declared_in_file`, `not_found`
 */
export async function updateEndpoint(
  parts: Authoring,
  change: { endpointId: string; entered: unknown; revision?: string | undefined; author: string },
): Promise<SavedEndpoint> {
  const { endpointId, entered, revision, author } = change;
  const { environmentId, slug } = await endpointIdentity(parts.store, endpointId);
  const config = enteredEndpoint(slug, entered);
  let changed: EndpointItem | undefined;
  const saved = await editEnvironment(parts, environmentId, author, async (opened) => {
    const known = await editableItem(parts.store, opened, endpointId, revision);
    changed = { ...known, config };
    return { ...opened.head, endpoints: withItem(opened.head.endpoints, changed) };
  });
  return withEndpoint(saved, environmentId, changed);
}

/**
 * Deletes an endpoint that people made; tokens and clients that were made for it work nowhere then.
 * @throws JackfieldError as `updateEndpoint`; `in_use` for the default endpoint, which has to be there
 */
export async function deleteEndpoint(
  parts: Authoring,
  change: { endpointId: string; revision?: string | undefined; author: string },
): Promise<Saved> {
  const { endpointId, revision, author } = change;
  const { environmentId } = await endpointIdentity(parts.store, endpointId);
  return editEnvironment(parts, environmentId, author, async (opened) => {
    const { slug } = await editableItem(parts.store, opened, endpointId, revision);
    if (slug === DEFAULT_ENDPOINT && opened.environment.slug === FIRST_ENVIRONMENT) {
      throw new JackfieldError("in_use", { text: "The default endpoint cannot be deleted: it is served at /mcp." });
    }
    return { ...opened.head, endpoints: opened.head.endpoints.filter(({ id }) => id !== endpointId) };
  });
}

/** As an editor sees it. */
export function editableEndpoint(environmentId: string, item: EndpointItem): EditableEndpoint {
  const { id, slug, config, origin, source } = item;
  const words = endpointWords(slug, config);
  return { id, slug, environmentId, words, config, origin, source, revision: revisionOf(config) };
}

async function endpointIdentity(store: Store, endpointId: string) {
  const row = await store.models.endpoints.findByPk(endpointId);
  if (row === null) throw unknownEndpoint();
  return row;
}

async function editableItem(
  store: Store,
  { head, environment, transaction }: Opened,
  endpointId: string,
  revision: string | undefined,
): Promise<EndpointItem> {
  const known = head.endpoints.find(({ id }) => id === endpointId);
  if (known === undefined) throw unknownEndpoint();
  if (known.origin === "file") throw declaredInFile(known.slug, known.source);
  const item = { kind: "endpoint", slug: known.slug, current: known.config } as const;
  await checkRevision(store, environment.id, item, revision, transaction);
  return known;
}

function unknownEndpoint(): JackfieldError {
  return new JackfieldError("not_found", { text: "There is no such endpoint." });
}

function withEndpoint(saved: Saved, environmentId: string, item: EndpointItem | undefined): SavedEndpoint {
  if (item === undefined) throw new Error("an edit ended without what it made");
  return { ...saved, endpoint: editableEndpoint(environmentId, item) };
}
