import { setTimeout as delay } from "node:timers/promises";
import { BaseError, DatabaseError, type Sequelize, TimeoutError, Transaction } from "sequelize";

/** Work that may run more than once: it must have no effect but through the transaction it is given. */
export type Work<T> = (transaction: Transaction) => Promise<T>;

const ATTEMPTS = 6;

/** Failures after which the database has undone the transaction and says: try again. */
const RETRYABLE = new Set(["ER_LOCK_DEADLOCK", "ER_LOCK_WAIT_TIMEOUT", "ER_CHECKREAD", "SQLITE_BUSY"]);

/** Whether a failed transaction may be run again with a chance of success. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof TimeoutError) return true;
  if (!(error instanceof DatabaseError) && !(error instanceof BaseError)) return false;
  const parent: unknown = "parent" in error ? error.parent : undefined;
  return parent instanceof Error && "code" in parent && RETRYABLE.has(String(parent.code));
}

/**
 * The only way to open a transaction. Every query of the work must carry `{ transaction }`: on SQLite one that does
 * not waits for the very transaction it is part of, and fails as busy.
 *
 * SQLite transactions write one after another. MySQL's run at READ COMMITTED: claim one-time things by a conditional
 * UPDATE and the number of rows it changed, or lock rows that are read to be changed.
 */
export function transactor(sequelize: Sequelize): <T>(work: Work<T>) => Promise<T> {
  return async (work) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await sequelize.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.READ_COMMITTED }, work);
      } catch (error) {
        if (attempt === ATTEMPTS || !isRetryable(error)) throw error;
        await delay(Math.random() * 10 * 2 ** attempt);
      }
    }
  };
}
