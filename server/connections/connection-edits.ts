/** Connections that people make, change and delete. Files are changed in the files. */
import type { JsonObject } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { SLUG_PATTERN } from "../gateway/names.ts";
import type { Store } from "../store/database.ts";
import { type Authoring, editEnvironment, type Opened, type Saved } from "./authoring.ts";
import { type ConnectionItem, revisionOf, withItem } from "./content.ts";
import { checkRevision } from "./edits.ts";
import { identityOf } from "./identities.ts";
import { connectionWords } from "./to-file.ts";
import type { ConnectionConfig } from "./types.ts";
import { enteredConnection, invalidEntry } from "./web-words.ts";

/** A connection as an editor sees it. */
export interface EditableConnection {
  id: string;
  slug: string;
  environmentId: string;
  /** In the words of a file under `connection:`. */
  words: JsonObject;
  config: ConnectionConfig;
  origin: "file" | "web";
  /** The file that declares it. */
  source: string | null;
  /** To be handed back when it is saved. */
  revision: string;
}

export interface SavedConnection extends Saved {
  connection: EditableConnection;
}

/**
 * Makes a connection.
 * @param entered in the words of a file under `connection:`; `review` is `strict` unless it says otherwise
 * @throws JackfieldError `invalid_entry`, `slug_taken`, `not_found` where there is no such environment
 */
export async function createConnection(
  parts: Authoring,
  { environmentId, slug, entered, author }: { environmentId: string; slug: string; entered: unknown; author: string },
): Promise<SavedConnection> {
  checkSlug(slug);
  const config = enteredConnection(slug, entered, parts.oauthApps());
  let made: ConnectionItem | undefined;
  const saved = await editEnvironment(parts, environmentId, author, async ({ head, transaction }) => {
    if (head.connections.some((connection) => connection.slug === slug)) {
      throw new JackfieldError("slug_taken", { text: `There is a connection ${slug} in this environment already.` });
    }
    const id = await identityOf(parts.store.models.connections, environmentId, slug, transaction);
    made = { id, slug, config, origin: "web", source: null };
    return { ...head, connections: withItem(head.connections, made) };
  });
  return withConnection(saved, environmentId, made);
}

/**
 * Changes a connection that people made; its slug stays.
 * @param entered all of it, in the words of a file under `connection:`
 * @param revision of the state that was edited; undefined: whatever is there is meant
 * @throws JackfieldError `invalid_entry`, `edit_conflict`, `declared_in_file`, `not_found`
 */
export async function updateConnection(
  parts: Authoring,
  change: { connectionId: string; entered: unknown; revision?: string | undefined; author: string },
): Promise<SavedConnection> {
  const { connectionId, entered, revision, author } = change;
  const { environmentId, slug } = await connectionIdentity(parts.store, connectionId);
  const config = enteredConnection(slug, entered, parts.oauthApps());
  let changed: ConnectionItem | undefined;
  const saved = await editEnvironment(parts, environmentId, author, async (opened) => {
    const known = await editableItem(parts.store, opened, connectionId, revision);
    changed = { ...known, config };
    return { ...opened.head, connections: withItem(opened.head.connections, changed) };
  });
  return withConnection(saved, environmentId, changed);
}

/**
 * Deletes a connection that people made. Its credential and accounts stay until they are deleted.
 * @throws JackfieldError as `updateConnection`
 */
export async function deleteConnection(
  parts: Authoring,
  change: { connectionId: string; revision?: string | undefined; author: string },
): Promise<Saved> {
  const { connectionId, revision, author } = change;
  const { environmentId } = await connectionIdentity(parts.store, connectionId);
  return editEnvironment(parts, environmentId, author, async (opened) => {
    await editableItem(parts.store, opened, connectionId, revision);
    return { ...opened.head, connections: opened.head.connections.filter(({ id }) => id !== connectionId) };
  });
}

/** As an editor sees it. */
export function editableConnection(environmentId: string, item: ConnectionItem): EditableConnection {
  const { id, slug, config, origin, source } = item;
  const words = connectionWords(slug, config);
  return { id, slug, environmentId, words, config, origin, source, revision: revisionOf(config) };
}

/** @throws JackfieldError `invalid_entry` where a connection or endpoint cannot have this name */
export function checkSlug(slug: string): void {
  if (SLUG_PATTERN.test(slug)) return;
  const message = "must start with a letter and hold at most 24 lower-case letters, digits and single hyphens";
  throw invalidEntry([{ path: "slug", message }]);
}

/** The file that says it, as an error. */
export function declaredInFile(what: string, source: string | null): JackfieldError {
  return new JackfieldError("declared_in_file", {
    text: `${what} is declared in ${source ?? "a configuration file"} and is changed there.`,
    data: { source },
  });
}

async function connectionIdentity(store: Store, connectionId: string) {
  const row = await store.models.connections.findByPk(connectionId);
  if (row === null) throw unknownConnection();
  return row;
}

async function editableItem(
  store: Store,
  { head, environment, transaction }: Opened,
  connectionId: string,
  revision: string | undefined,
): Promise<ConnectionItem> {
  const known = head.connections.find(({ id }) => id === connectionId);
  if (known === undefined) throw unknownConnection();
  if (known.origin === "file") throw declaredInFile(known.slug, known.source);
  const item = { kind: "connection", slug: known.slug, current: known.config } as const;
  await checkRevision(store, environment.id, item, revision, transaction);
  return known;
}

function unknownConnection(): JackfieldError {
  return new JackfieldError("not_found", { text: "There is no such connection." });
}

function withConnection(saved: Saved, environmentId: string, item: ConnectionItem | undefined): SavedConnection {
  if (item === undefined) throw new Error("an edit ended without what it made");
  return { ...saved, connection: editableConnection(environmentId, item) };
}
