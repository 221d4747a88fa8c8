/**
 * The chains of one process: the one that events go to, and older ones whose writes have not ended yet. A chain lasts
 * a day, so that the retention can remove whole chains.
 */
import type { Log } from "../../adapters/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import type { Checkpoints } from "./audit-checkpoints.ts";
import { signingKey } from "./audit-keys.ts";
import { type Chain, type Change, IntentMissing, openChain } from "./audit-writer.ts";

/** No event is added to a chain after this time, only the ends of its writes. */
export const CHAIN_MS = 24 * 60 * 60_000;
/** The most links, and the longest time, that no checkpoint says anything about. */
const UNCHECKED_LINKS = 1000;
const UNCHECKED_MS = 60_000;

export interface Chains {
  /** The chain a change belongs to. Rejects with `IntentMissing`, or where a new chain cannot be opened. */
  of(change: Change): Promise<Chain>;
  /** Writes to one chain; see `Chain.write`. */
  write(chain: Chain, changes: readonly Change[]): Promise<void>;
  /** Signs checkpoints that are due. Never rejects: what goes wrong is logged. */
  tend(): Promise<void>;
  /** Signs where everything ends. A later change opens a new chain. Never rejects. */
  close(): Promise<void>;
}

export interface ChainsOptions {
  store: Store;
  keyring: Keyring;
  checkpoints: Checkpoints;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
  /** Asks to be tended. */
  wake: () => void;
}

export function createChains({ store, keyring, checkpoints, log, clock, wake }: ChainsOptions): Chains {
  let current: Chain | undefined;
  const retired = new Set<Chain>();
  /** Intents whose end is not written yet. */
  const open = new Map<string, Chain>();
  let timer: NodeJS.Timeout | undefined;
  let due = false;
  let failing = false;

  async function currentChain(): Promise<Chain> {
    if (current !== undefined && clock() - current.startedAt >= CHAIN_MS) {
      retired.add(current);
      current = undefined;
    }
    current ??= await openChain({
      store,
      checkpoints,
      key: await signingKey(store, keyring, log),
      startedAt: clock(),
    });
    return current;
  }

  async function sign(chain: Chain, kind: "reached" | "closed"): Promise<boolean> {
    try {
      await chain.checkpoint(kind);
      return true;
    } catch (error) {
      log.error({ error, chain: chain.id }, "a checkpoint of the audit could not be written; it is tried again");
      return false;
    }
  }

  const ended = (chain: Chain) => ![...open.values()].includes(chain);

  function arm(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      due = true;
      failing = false;
      wake();
    }, UNCHECKED_MS);
    timer.unref();
  }

  return {
    async of(change) {
      if (change.kind === "event") return await currentChain();
      const chain = open.get(change.id);
      if (chain === undefined) throw new IntentMissing(change.id);
      return chain;
    },
    async write(chain, changes) {
      try {
        await chain.write(changes);
      } catch (error) {
        if (error instanceof IntentMissing) open.delete(error.id);
        throw error;
      }
      for (const change of changes) {
        if (change.kind === "end") open.delete(change.id);
        else if (change.row.outcome === "open") open.set(change.row.id, chain);
      }
      arm();
    },
    async tend() {
      if (failing) return;
      for (const chain of retired) {
        if (!ended(chain)) continue;
        if (await sign(chain, "closed")) retired.delete(chain);
        else failing = true;
      }
      if (current !== undefined && current.unchecked > 0 && (due || current.unchecked >= UNCHECKED_LINKS)) {
        failing = !(await sign(current, "reached")) || failing;
      }
      due = false;
      if (failing) arm();
    },
    async close() {
      clearTimeout(timer);
      timer = undefined;
      for (const chain of [...retired, ...(current === undefined ? [] : [current])]) {
        if ((await sign(chain, ended(chain) ? "closed" : "reached")) && ended(chain)) retired.delete(chain);
        else retired.add(chain);
      }
      current = undefined;
    },
  };
}
