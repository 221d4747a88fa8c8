/**
 * Brings the tables to what this version needs. Any number of processes may start at once: on SQLite all pending
 * migrations are one transaction, on MySQL (whose DDL commits by itself) a named lock lets one process at a time in.
 */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { QueryTypes, type Transaction } from "sequelize";
import { Umzug, type UmzugStorage } from "umzug";
import { JackfieldError } from "../errors.ts";
import type { Store } from "./database.ts";

export interface MigrationContext {
  readonly dialect: Store["dialect"];
  query(sql: string): Promise<void>;
}
export type Migration = (parameters: { context: MigrationContext }) => Promise<void>;

/** Seconds a replica waits for another one's migrations. */
const LOCK_SECONDS = 60;
const DIRECTORY = new URL("../../migrations/", import.meta.url);

/** Runs what is pending and returns its names, in order. Throws `start_failed` where another process never finishes. */
export async function migrate(store: Store): Promise<string[]> {
  return store.transaction(async (transaction) => {
    if (store.dialect === "sqlite") return up(store, transaction);
    // The lock lives on this transaction's connection; the migrations use others.
    const name = await lockName(store);
    const answer = await store.sequelize.query<{ locked: number | null }>("SELECT GET_LOCK(?, ?) AS locked", {
      replacements: [name, LOCK_SECONDS],
      type: QueryTypes.SELECT,
      transaction,
    });
    if (answer[0]?.locked !== 1) {
      throw new JackfieldError("start_failed", { text: "Another process holds the lock of the database migrations." });
    }
    try {
      return await up(store, undefined);
    } finally {
      await store.sequelize.query("SELECT RELEASE_LOCK(?)", { replacements: [name], transaction });
    }
  });
}

async function up(store: Store, transaction: Transaction | undefined): Promise<string[]> {
  const options = transaction === undefined ? {} : { transaction };
  const context: MigrationContext = {
    dialect: store.dialect,
    async query(sql) {
      await store.sequelize.query(sql, options);
    },
  };
  const umzug = new Umzug<MigrationContext>({
    migrations: await migrations(),
    context,
    storage: migrationStorage(store, context, options),
    logger: undefined,
  });
  return (await umzug.up()).map(({ name }) => name);
}

async function migrations() {
  // Names carry no extension, so that a compiled file would count as the same migration.
  const files = (await readdir(DIRECTORY)).filter((file) => /^\d{4}-[a-z0-9-]+\.[jt]s$/.test(file)).sort();
  return files.map((file) => ({
    name: file.replace(/\.[jt]s$/, ""),
    async up({ context }: { context: MigrationContext }): Promise<void> {
      const module: { up: Migration } = await import(new URL(file, DIRECTORY).href);
      await module.up({ context });
    },
  }));
}

function migrationStorage(
  store: Store,
  context: MigrationContext,
  options: { transaction?: Transaction },
): UmzugStorage<MigrationContext> {
  const ascii = store.dialect === "mysql" ? " CHARACTER SET ascii COLLATE ascii_bin" : "";
  const table = `CREATE TABLE IF NOT EXISTS schema_migrations (name VARCHAR(128)${ascii} NOT NULL PRIMARY KEY)`;
  return {
    async executed() {
      await context.query(table);
      const rows = await store.sequelize.query<{ name: string }>("SELECT name FROM schema_migrations ORDER BY name", {
        ...options,
        type: QueryTypes.SELECT,
      });
      return rows.map(({ name }) => name);
    },
    async logMigration({ name }) {
      const sql = "INSERT INTO schema_migrations (name) VALUES (?)";
      await store.sequelize.query(sql, { ...options, replacements: [name] });
    },
    async unlogMigration({ name }) {
      const sql = "DELETE FROM schema_migrations WHERE name = ?";
      await store.sequelize.query(sql, { ...options, replacements: [name] });
    },
  };
}

/** Named locks are shared by all databases of a MySQL server and at most 64 characters long. */
async function lockName(store: Store): Promise<string> {
  const rows = await store.sequelize.query<{ name: string }>("SELECT DATABASE() AS name", { type: QueryTypes.SELECT });
  const database = createHash("sha256").update(String(rows[0]?.name)).digest("hex").slice(0, 32);
  return `jackfield.migrations.${database}`;
}
