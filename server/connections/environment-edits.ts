/** Environments that people make, change and retire, and whether their edits wait in a draft. */
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import { type Authoring, editEnvironment, openEnvironment, type Saved } from "./authoring.ts";
import { checkSlug, declaredInFile } from "./connection-edits.ts";
import { emptyContent, settingsOf } from "./content.ts";
import { contentProblems, refuseErrors } from "./content-checks.ts";
import { checkRevision } from "./edits.ts";
import { FIRST_ENVIRONMENT } from "./files.ts";
import { dropVersion, writePublished } from "./versions.ts";
import { enteredEnvironment, invalidEntry } from "./web-words.ts";

/**
 * Makes an environment, served from now on and empty. Its edits wait in a draft until somebody publishes them.
 * @param entered in the words of a file under `environment:`
 * @throws JackfieldError `invalid_entry`, `slug_taken`
 */
export async function createEnvironment(
  parts: Authoring,
  change: { organizationId: string; slug: string; entered: unknown; author: string },
): Promise<{ id: string; saved: Saved }> {
  const { store, bus, clock } = parts;
  const { organizationId, slug, entered, author } = change;
  checkSlug(slug);
  const settings = enteredEnvironment(entered);
  const at = new Date(clock());
  const made = await store.transaction(async (transaction) => {
    const { environments, organizations } = store.models;
    await organizations.findByPk(organizationId, { transaction, lock: transaction.LOCK.UPDATE });
    const parentId = await parentIdOf(store, organizationId, settings.parent, transaction);
    const known = await environments.findOne({ where: { organizationId, slug }, transaction });
    if (known !== null && known.retiredAt === null) {
      throw new JackfieldError("slug_taken", { text: `There is an environment ${slug} already.` });
    }
    const name = settings.label ?? slug;
    const row = known ?? (await environments.create({ organizationId, slug, name }, { transaction }));
    await row.update({ retiredAt: null, draftsSince: at, filesDigest: null, parentId: null }, { transaction });
    await row.reload({ transaction });
    const content = { ...emptyContent(name), parentId, forbid: settings.forbid };
    const environment = row.get({ plain: true });
    const problems = await contentProblems(store, { environment, transaction }, content);
    refuseErrors(problems);
    const version = await writePublished(store, environment, content, { author, at }, transaction);
    return { id: row.id, saved: { environmentId: row.id, state: "served" as const, version, problems } };
  });
  await bus.publish("environment", { environmentId: made.id });
  return made;
}

/**
 * Changes label, parent and denials of an environment.
 * @param entered all of them, in the words of a file under `environment:`
 * @throws JackfieldError `invalid_entry`, `edit_conflict`, `declared_in_file`, `not_found`
 */
export async function updateEnvironment(
  parts: Authoring,
  change: { environmentId: string; entered: unknown; revision?: string | undefined; author: string },
): Promise<Saved> {
  const { environmentId, entered, revision, author } = change;
  const settings = enteredEnvironment(entered);
  return editEnvironment(parts, environmentId, author, async ({ environment, head, transaction }) => {
    const { organizationId, slug } = environment;
    if (head.settingsOrigin === "file") throw declaredInFile(slug, "environment.yml");
    const item = { kind: "environment", slug, current: settingsOf(head) } as const;
    await checkRevision(parts.store, environmentId, item, revision, transaction);
    const parentId = await parentIdOf(parts.store, organizationId, settings.parent, transaction);
    return { ...head, label: settings.label ?? slug, parentId, forbid: settings.forbid };
  });
}

/**
 * Retires an environment: nothing of it is served any more.
 * @throws JackfieldError `in_use` for the first one, and where others inherit from it or files declare it
 */
export async function deleteEnvironment(
  { store, bus, clock }: Authoring,
  { environmentId }: { environmentId: string; author: string },
): Promise<void> {
  await store.transaction(async (transaction) => {
    const { environments } = store.models;
    const { environment, draft, head, published } = await openEnvironment(store, environmentId, transaction);
    const { slug } = environment;
    if (slug === FIRST_ENVIRONMENT) {
      throw new JackfieldError("in_use", { text: "The first environment cannot be deleted." });
    }
    const where = { parentId: environmentId, retiredAt: null };
    const children = await environments.findAll({ where, transaction });
    if (children.length > 0) {
      const names = children.map((child) => child.slug).join(", ");
      throw new JackfieldError("in_use", { text: `These environments inherit from ${slug}: ${names}.` });
    }
    const sources = [...head.connections, ...head.endpoints, ...published.connections, ...published.endpoints];
    const file = sources.find(({ origin }) => origin === "file");
    if (file !== undefined || published.settingsOrigin === "file") {
      throw declaredInFile(slug, file?.source ?? "environment.yml");
    }
    if (draft !== undefined) await dropVersion(store, draft.row.id, transaction);
    await store.models.environmentVersions.update(
      { state: "superseded" },
      { where: { environmentId, state: "published" }, transaction },
    );
    const retired = { publishedVersionId: null, parentId: null, draftsSince: null, retiredAt: new Date(clock()) };
    await environments.update(retired, { where: { id: environmentId }, transaction });
  });
  await bus.publish("environment", { environmentId });
}

/**
 * Says whether edits wait in a draft until they are published, or are served as they are saved.
 * @throws JackfieldError `in_use` where it is turned off while something waits
 */
export async function setDraftMode(
  { store, bus, clock }: Authoring,
  { environmentId, on }: { environmentId: string; on: boolean },
): Promise<void> {
  await store.transaction(async (transaction) => {
    const { environment, draft } = await openEnvironment(store, environmentId, transaction);
    if ((environment.draftsSince !== null) === on) return;
    if (!on && draft !== undefined) {
      throw new JackfieldError("in_use", { text: "A draft waits. Publish it or discard it first." });
    }
    const draftsSince = on ? new Date(clock()) : null;
    await store.models.environments.update({ draftsSince }, { where: { id: environmentId }, transaction });
  });
  await bus.publish("environment", { environmentId });
}

async function parentIdOf(
  store: Store,
  organizationId: string,
  slug: string | undefined,
  transaction: Parameters<typeof openEnvironment>[2],
): Promise<string | null> {
  if (slug === undefined) return null;
  const where = { organizationId, slug, retiredAt: null };
  const row = await store.models.environments.findOne({ where, transaction });
  if (row === null) throw invalidEntry([{ path: "parent", message: `there is no environment ${slug}` }]);
  return row.id;
}
