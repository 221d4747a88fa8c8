import { join } from "node:path";
import { Sequelize } from "sequelize";
import type { Log } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { prepareDataDir, preparePrivateFile } from "./data-dir.ts";
import { defineModels, type Models } from "./models/index.ts";
import * as sqlite from "./sqlite/driver.ts";
import { transactor, type Work } from "./transaction.ts";

export interface Store {
  readonly sequelize: Sequelize;
  readonly dialect: "sqlite" | "mysql";
  /** Path of the SQLite file; undefined on MySQL. */
  readonly file: string | undefined;
  readonly models: Models;
  /** Runs work in one transaction, again after a deadlock or a busy database; see `transaction.ts`. */
  transaction<T>(work: Work<T>): Promise<T>;
  /** Resolves where the database answers; rejects with `database_unavailable`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  /** `mysql://...`, `sqlite:<path>`, or undefined: `jackfield.db` in the data directory. */
  url: string | undefined;
  dataDir: string;
  log: Log;
}

/**
 * Connects to the database; makes no tables (see `migrate`).
 * Throws `start_failed` (SQLite file cannot be used) or `database_unavailable` (MySQL does not answer).
 */
export async function openStore({ url, dataDir, log }: StoreOptions): Promise<Store> {
  const file = sqliteFile(url, dataDir);
  const sequelize = file === undefined ? connectMysql(url ?? "") : connectSqlite(file, dataDir);
  const store: Store = {
    sequelize,
    dialect: file === undefined ? "mysql" : "sqlite",
    file,
    models: defineModels(sequelize),
    transaction: transactor(sequelize),
    async ping() {
      try {
        await sequelize.query("SELECT 1");
      } catch (cause) {
        throw new JackfieldError("database_unavailable", { detail: String(cause), cause });
      }
    },
    close: () => sequelize.close(),
  };
  try {
    await store.ping();
  } catch (error) {
    await sequelize.close();
    if (file === undefined || !(error instanceof JackfieldError)) throw error;
    const text = `The database file ${file} cannot be used: ${error.detail}`;
    throw new JackfieldError("start_failed", { text, cause: error });
  }
  log.debug({ dialect: store.dialect, file }, "database opened");
  return store;
}

/** The SQLite file that a database URL means; undefined for MySQL. */
function sqliteFile(url: string | undefined, dataDir: string): string | undefined {
  if (url === undefined) return join(dataDir, "jackfield.db");
  return url.startsWith("sqlite:") ? url.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "") : undefined;
}

function connectSqlite(file: string, dataDir: string): Sequelize {
  prepareDataDir(dataDir);
  // Made before SQLite does: its -wal and -shm files take over the permissions of this one.
  preparePrivateFile(file);
  return new Sequelize({ dialect: "sqlite", dialectModule: sqlite, storage: file, logging: false });
}

function connectMysql(url: string): Sequelize {
  return new Sequelize(url.replace(/^mariadb:/, "mysql:"), {
    dialect: "mysql",
    logging: false,
    timezone: "+00:00",
    dialectOptions: { charset: "utf8mb4", connectTimeout: 10_000 },
    pool: { max: 10, min: 0, acquire: 15_000, idle: 60_000 },
  });
}
