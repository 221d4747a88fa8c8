/** Ends approvals whose time is over, and forgets those that ended long ago. */
import { Op } from "sequelize";
import type { Log } from "../../../adapters/contract.ts";
import type { Store } from "../../store/database.ts";
import type { Register } from "./register.ts";

const EVERY_MS = 60_000;
const BATCH = 200;
/** Milliseconds for which a record that ended can still be looked at, with its arguments. */
const KEPT_MS = 30 * 86_400_000;

export interface Sweep {
  /** Does now what is done every minute. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the sweep of one process; several do the same without harm. */
export function createSweep(options: { store: Store; register: Register; clock: () => number; log: Log }): Sweep {
  const { store, register, clock, log } = options;
  const { approvals } = store.models;
  let running: Promise<void> | undefined;

  async function once(): Promise<void> {
    const now = clock();
    const over = await approvals.findAll({
      where: { state: ["pending", "approved"], expiresAt: { [Op.lte]: new Date(now) } },
      limit: BATCH,
    });
    for (const row of over) await register.expire(row);
    const ended = { state: ["refused", "used", "expired"], expiresAt: { [Op.lt]: new Date(now - KEPT_MS) } };
    await approvals.destroy({ where: ended });
  }

  const run = (): Promise<void> => {
    running ??= once().finally(() => {
      running = undefined;
    });
    return running;
  };
  const timer = setInterval(() => {
    run().catch((error: unknown) =>
      log.warn({ error }, "approvals that are over could not be ended; tried again soon"),
    );
  }, EVERY_MS);
  timer.unref();
  return {
    run,
    async close() {
      clearInterval(timer);
      await running?.catch((error: unknown) => log.debug({ error }, "the last sweep of approvals failed"));
    },
  };
}
