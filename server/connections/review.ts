/** Review of tool definitions: what waits for a person, what differs, and the acceptance of it. */
import { ulid } from "ulid";
import type { ToolDefinition } from "../../adapters/contract.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { compileAccept } from "./catalogue-store.ts";
import { canonicalJson } from "./digest.ts";

export interface ReviewItem {
  name: string;
  /** The upstream's own name. */
  action: string;
  state: "pending" | "changed";
  /** The definition that is waiting. */
  definition: ToolDefinition;
  /** From the accepted definition to the waiting one; for a new tool everything is added. */
  difference: Difference[];
  /** What cleaning found in it. */
  findings: unknown;
  accepted: boolean;
}

export interface Difference {
  /** Dotted path inside the definition. */
  path: string;
  before?: unknown;
  after?: unknown;
}

/** The parts of a definition that are reviewed. */
const REVIEWED = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] as const;

/**
 * Lists what waits for review at a connection and, with `accept`, accepts what it matches.
 *
 * What is returned as accepted is exactly what was accepted: both happen in one transaction, so that a refresh in
 * between cannot slip another definition under a person's decision.
 *
 * @param accept pattern over upstream names, or a public name
 * @param by who accepts, for the record
 * @throws GlobError where the pattern cannot be read
 */
export async function reviewConnection(
  { store, bus }: { store: Store; bus: Bus },
  connectionId: string,
  { accept, by, clock = Date.now }: { accept?: string; by: string; clock?: () => number },
): Promise<ReviewItem[]> {
  const matches = accept === undefined ? () => false : compileAccept(accept);
  const items = await store.transaction(async (transaction) => {
    const { tools, connectionStates } = store.models;
    await connectionStates.findByPk(connectionId, { transaction, lock: transaction.LOCK.UPDATE });
    const rows = await tools.findAll({
      where: { connectionId, state: ["pending", "changed"] },
      order: [["position", "ASC"]],
      transaction,
    });
    const reviewed: ReviewItem[] = [];
    for (const row of rows) {
      const accepted = matches(row.upstreamName) || accept === row.name;
      reviewed.push({
        name: row.name,
        action: row.upstreamName,
        state: row.state === "changed" ? "changed" : "pending",
        definition: row.definition,
        difference: differences(pick(row.reviewedDefinition), pick(row.definition)),
        findings: row.findings,
        accepted,
      });
      if (!accepted) continue;
      const { definition, hash } = row;
      const review = {
        reviewedDefinition: definition,
        reviewedHash: hash,
        reviewedBy: by,
        reviewedAt: new Date(clock()),
      };
      await row.update({ state: "approved", ...review }, { transaction });
    }
    if (reviewed.some(({ accepted }) => accepted)) {
      await connectionStates.update({ catalogueRevision: ulid() }, { where: { connectionId }, transaction });
    }
    return reviewed;
  });
  if (items.some(({ accepted }) => accepted)) await bus.publish("catalogue", { connectionId });
  return items;
}

function pick(definition: ToolDefinition | null): Record<string, unknown> {
  if (definition === null) return {};
  return Object.fromEntries(REVIEWED.map((key) => [key, definition[key]]).filter(([, value]) => value !== undefined));
}

/** Leaves that differ, in the order of the waiting definition. */
export function differences(before: unknown, after: unknown, path = ""): Difference[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (!isObject(before) || !isObject(after)) {
    return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
  }
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...keys].flatMap((key) => {
    const at = path === "" ? key : `${path}.${key}`;
    return differences(Object.hasOwn(before, key) ? before[key] : undefined, after[key], at);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
