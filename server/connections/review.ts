/** Review of tool definitions: what waits for a person, what differs, and the acceptance of it. */
import { ulid } from "ulid";
import type { ToolDefinition } from "../../adapters/contract.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { compileAccept } from "./catalogue-store.ts";
import { type Difference, differences } from "./difference.ts";

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
