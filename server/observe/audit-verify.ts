/**
 * Reads the audit from end to end and names every place where it is not as it was written. Servers may go on writing
 * meanwhile. What it holds in memory grows with the number of chains, not of events.
 */
import { Op } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { openAuditKeys } from "./audit-keys.ts";
import { verifyChain, verifyLeftovers } from "./audit-verify-chain.ts";
import { type Anchor, readCheckpoints } from "./audit-verify-checkpoints.ts";

export interface Verification {
  /** Events that were read. */
  events: number;
  chains: number;
  checkpoints: number;
  /** Events from before there were chains: nothing can be said about them. */
  unchained: number;
  breaks: number;
  /** The newest checkpoint. Kept elsewhere, it shows later that nothing up to here was removed. */
  anchor?: Anchor;
}

export interface VerifyOptions {
  store: Store;
  keyring: Keyring;
  log: Log;
  /** A newest checkpoint of an earlier time. */
  anchor?: Anchor;
  /** Called for each break with one line. */
  onBreak: (line: string) => void;
}

/** Verifies checkpoints, then each chain, then that no event stands outside of them. */
export async function verifyAudit({ store, keyring, log, anchor, onBreak }: VerifyOptions): Promise<Verification> {
  const result: Verification = { events: 0, chains: 0, checkpoints: 0, unchained: 0, breaks: 0 };
  const report = (line: string) => {
    result.breaks += 1;
    onBreak(line);
  };
  const keys = await openAuditKeys(store, keyring, log);
  const read = await readCheckpoints(store, keys, report, anchor);
  result.checkpoints = read.count;
  if (read.last !== undefined) result.anchor = read.last;
  for (const [chainId, state] of read.chains) {
    if (state.cut) continue;
    result.chains += 1;
    result.events += await verifyChain(
      store,
      { chainId, ...state },
      unlessCut(store, chainId, read.last?.number ?? 0, report),
    );
  }
  result.unchained = await outsideOfChains(store, read.beganAt, report);
  for (const [chainId, count] of await countByChain(store)) {
    const state = read.chains.get(chainId);
    if (state === undefined)
      report(`chain ${chainId}: no checkpoint says that it was opened, but ${events(count)} there`);
    // The retention was interrupted, or has not come further yet: what is left must still be as it was written.
    else if (state.cut) result.events += await verifyLeftovers(store, { chainId, ...state }, report);
  }
  return result;
}

/** The retention may cut a chain while it is read; it says so before the first event goes. */
function unlessCut(
  store: Store,
  chainId: string,
  readUpTo: number,
  report: (line: string) => void,
): (line: string) => Promise<void> {
  let cut: boolean | undefined;
  return async (line) => {
    const where = { chainId, kind: "cut", number: { [Op.gt]: readUpTo } };
    cut ??= (await store.models.auditCheckpoints.count({ where })) > 0;
    if (!cut) report(line);
  };
}

async function outsideOfChains(
  store: Store,
  beganAt: Date | undefined,
  report: (line: string) => void,
): Promise<number> {
  const { auditEvents } = store.models;
  const before =
    beganAt === undefined ? 0 : await auditEvents.count({ where: { chainId: null, at: { [Op.lt]: beganAt } } });
  const all = await auditEvents.count({ where: { chainId: null } });
  // Without checkpoints nothing was written since there are chains.
  const any = (await store.models.auditCheckpoints.count()) > 0;
  if (!any) return all;
  if (all > before) report(`${events(all - before)} in the database without being in a chain`);
  const placeless = await auditEvents.count({ where: { chainId: { [Op.ne]: null }, sequence: null } });
  if (placeless > 0) report(`${events(placeless)} in the database without a place in their chain`);
  return before;
}

async function countByChain(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.models.auditEvents.count({ where: { chainId: { [Op.ne]: null } }, group: ["chainId"] });
  return new Map(rows.map((row) => [String(row["chainId"]), row.count]));
}

function events(count: number): string {
  return count === 1 ? "1 event is" : `${count} events are`;
}
