/**
 * Writes the listed tools of a connection to the store. There may be tens of thousands: they are read, compared and
 * written in small steps, so that calls go on meanwhile and no other writer waits for long.
 */
import { Op, UniqueConstraintError } from "sequelize";
import type { ToolDefinition } from "../../adapters/contract.ts";
import { foldName } from "../gateway/names.ts";
import type { Store } from "../store/database.ts";
import { diffCatalogue, type KnownTool, type ListedTool, type ReviewRules, type ToolChange } from "./catalogue-diff.ts";
import { sha256 } from "./digest.ts";
import { takeTurns } from "./turns.ts";

/** Public names of what is different, in the upstream's order. */
export interface ChangedTools {
  added: string[];
  updated: string[];
  gone: string[];
}

/** Stored tools that are read with one query. */
const PAGE = 8;
/** Changes that are written in one transaction. */
const BATCH = 25;
const ATTEMPTS = 5;

type Transaction = Parameters<Parameters<Store["transaction"]>[0]>[0];
type Step = (transaction: Transaction) => Promise<void>;

/** Another process, or a person's decision, was there first: what is stored is not what was compared. */
class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/**
 * Stores what differs. Where it is stopped half-way, the next reading goes on from there.
 * @throws Overtaken where others change the same tools again and again
 */
export async function storeTools(
  store: Store,
  { connectionId, slug }: { connectionId: string; slug: string },
  listed: readonly ListedTool[],
  { rules, now }: { rules: ReviewRules; now: Date },
): Promise<ChangedTools> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const known = await knownTools(store, connectionId);
      const before = new Map(known.map((row) => [row.upstreamName, row]));
      const diff = await diffCatalogue(slug, known, listed, rules);
      await write(store, connectionId, [
        ...diff.added.map((change) => adding(store, connectionId, change, now)),
        ...diff.updated.map((change) => updating(store, connectionId, change, before.get(change.upstreamName), now)),
        ...diff.gone.map((name) => leaving(store, connectionId, name)),
      ]);
      return {
        added: diff.added.map(({ name }) => name),
        updated: diff.updated.map(({ name }) => name),
        gone: diff.gone.map((name) => before.get(name)?.name ?? name),
      };
    } catch (error) {
      const overtaken = error instanceof Overtaken || error instanceof UniqueConstraintError;
      if (!overtaken || attempt >= ATTEMPTS) throw error;
    }
  }
}

async function write(store: Store, connectionId: string, steps: readonly Step[]): Promise<void> {
  const { connectionStates } = store.models;
  const turns = takeTurns();
  for (let at = 0; at < steps.length; at += BATCH) {
    await store.transaction(async (transaction) => {
      // Whoever reviews this connection, or reads it too, writes before or after, and not in between.
      await connectionStates.findByPk(connectionId, {
        attributes: ["connectionId"],
        transaction,
        lock: transaction.LOCK.UPDATE,
      });
      for (const step of steps.slice(at, at + BATCH)) {
        await turns.pass();
        await step(transaction);
      }
    });
  }
}

async function knownTools(store: Store, connectionId: string): Promise<KnownTool[]> {
  const known: KnownTool[] = [];
  for (let after = ""; ; ) {
    const rows = await store.models.tools.findAll({
      attributes: ["upstreamKey", "upstreamName", "name", "position", "hash", "reviewedHash", "state", "definition"],
      where: { connectionId, upstreamKey: { [Op.gt]: after } },
      // The order of an index, so that no page sorts all the others.
      order: [["upstreamKey", "ASC"]],
      limit: PAGE,
    });
    for (const row of rows) {
      const { upstreamName, name, position, hash, reviewedHash, state } = row;
      const stored: unknown = row.getDataValue("definition");
      const definitionText = typeof stored === "string" ? stored : JSON.stringify(stored);
      known.push({ upstreamName, name, position, hash, reviewedHash, state, definitionText });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return known;
    after = last.upstreamKey;
  }
}

function adding(store: Store, connectionId: string, change: ToolChange, now: Date): Step {
  return async (transaction) => {
    await store.models.tools.create(
      {
        ...columns(change, now),
        connectionId,
        upstreamKey: sha256(change.upstreamName),
        upstreamName: change.upstreamName,
        name: change.name,
        nameKey: foldName(change.name),
        firstSeenAt: now,
      },
      { transaction },
    );
  };
}

function updating(
  store: Store,
  connectionId: string,
  change: ToolChange,
  before: KnownTool | undefined,
  now: Date,
): Step {
  return async (transaction) => {
    const { hash, state, reviewedHash } = before ?? {};
    const [affected] = await store.models.tools.update(columns(change, now), {
      where: {
        connectionId,
        upstreamKey: sha256(change.upstreamName),
        hash,
        state,
        reviewedHash: reviewedHash ?? null,
      },
      transaction,
    });
    if (affected === 0) throw new Overtaken("a tool was changed meanwhile");
  };
}

function leaving(store: Store, connectionId: string, upstreamName: string): Step {
  return async (transaction) => {
    const where = { connectionId, upstreamKey: sha256(upstreamName) };
    await store.models.tools.update({ state: "gone" }, { where, transaction });
  };
}

/** The columns of a listed tool; the reviewed definition moves only where this very definition is accepted. */
function columns({ listed, position, state, reviewed }: ToolChange, now: Date) {
  const { hash, findings } = listed;
  const definition: ToolDefinition = listed.definition;
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
