/**
 * The one way to change an environment, whoever the author is (design section 7; `publish.ts` for the files).
 *
 * An edit goes into the draft where the environment keeps one, else it is served at once as a new version. Either way
 * it is checked and written in one transaction, and edits of one organization come one after another.
 */
import type { Transaction } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { EnvironmentVersionRow } from "../store/models/environment-versions.ts";
import type { EnvironmentRow } from "../store/models/environments.ts";
import { contentDigest, type EnvironmentContent } from "./content.ts";
import { type ContentProblem, contentProblems, refuseErrors } from "./content-checks.ts";
import { recordEdits } from "./edits.ts";
import { draftOf, dropVersion, readContent, readPublished, writeDraft, writePublished } from "./versions.ts";

export interface Authoring {
  store: Store;
  bus: Bus;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Ids of the OAuth apps that connections may name. */
  oauthApps: () => readonly string[];
}

/** What became of an edit. */
export interface Saved {
  environmentId: string;
  /** `served`: it is in force. `draft`: it waits for publication. `unchanged`: it changed nothing. */
  state: "served" | "draft" | "unchanged";
  /** The version that serves it. */
  version?: number;
  /** What deserves a second look; in a draft also what must be put right before it can be published. */
  problems: ContentProblem[];
}

/** An environment inside the transaction that changes it. */
export interface Opened {
  environment: EnvironmentRow;
  organization: { id: string; slug: string };
  /** What is served. */
  published: EnvironmentContent;
  publishedVersion: EnvironmentVersionRow | undefined;
  draft: { row: EnvironmentVersionRow; content: EnvironmentContent } | undefined;
  /** What authors edit: the draft where there is one. */
  head: EnvironmentContent;
  transaction: Transaction;
}

/**
 * Changes an environment.
 * @param edit makes the new content; what it throws ends the edit and changes nothing
 * @throws JackfieldError `not_found` where there is no such environment, `invalid_entry` where it cannot be served
 */
export async function editEnvironment(
  { store, bus, clock }: Authoring,
  environmentId: string,
  author: string,
  edit: (opened: Opened) => EnvironmentContent | Promise<EnvironmentContent>,
): Promise<Saved> {
  const saved = await store.transaction(async (transaction): Promise<Saved> => {
    const opened = await openEnvironment(store, environmentId, transaction);
    const after = await edit(opened);
    const at = new Date(clock());
    const { environment, head } = opened;
    if (contentDigest(after) === contentDigest(head)) return { environmentId, state: "unchanged", problems: [] };
    const problems = await contentProblems(store, opened, after);
    await recordEdits(store, environment, { before: head, after, author, at }, transaction);
    if (environment.draftsSince !== null) {
      await saveDraft(store, opened, after, { author, at });
      return { environmentId, state: "draft", problems };
    }
    refuseErrors(problems);
    const version = await writePublished(store, environment, after, { author, at }, transaction);
    return { environmentId, state: "served", version, problems };
  });
  if (saved.state !== "unchanged") await bus.publish("environment", { environmentId });
  return saved;
}

/** Writes the draft; one that is what is served anyhow is none. */
export async function saveDraft(
  store: Store,
  opened: Opened,
  content: EnvironmentContent,
  by: { author: string; at: Date },
): Promise<void> {
  const { environment, draft, published, transaction } = opened;
  if (opened.publishedVersion !== undefined && contentDigest(content) === contentDigest(published)) {
    if (draft !== undefined) await dropVersion(store, draft.row.id, transaction);
    return;
  }
  const before = draft && { row: draft.row, before: draft.content };
  await writeDraft(store, environment.id, before, content, by, transaction);
}

/**
 * Reads an environment to change it; until the transaction ends nobody else changes one of its organization.
 * @throws JackfieldError `not_found`
 */
export async function openEnvironment(store: Store, environmentId: string, transaction: Transaction): Promise<Opened> {
  const { environments, organizations } = store.models;
  const lock = transaction.LOCK.UPDATE;
  const organizationId = (await environments.findByPk(environmentId, { transaction }))?.organizationId ?? "";
  // The organization is what is locked: slugs and parents are a matter of all its environments.
  const organization = await organizations.findByPk(organizationId, { transaction, lock });
  const row = await environments.findByPk(environmentId, { transaction, lock });
  if (organization === null || row === null || row.retiredAt !== null) {
    throw new JackfieldError("not_found", { text: "There is no such environment." });
  }
  const environment = row.get({ plain: true });
  const { content: published, version } = await readPublished(store, environment, transaction);
  const waiting = await draftOf(store, environmentId, transaction);
  const draft = waiting && { row: waiting, content: await readContent(store, environment, waiting, transaction) };
  const { id, slug } = organization;
  return {
    environment,
    organization: { id, slug },
    published,
    publishedVersion: version,
    draft,
    head: draft?.content ?? published,
    transaction,
  };
}
