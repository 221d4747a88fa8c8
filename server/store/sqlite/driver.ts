/**
 * `node:sqlite` in the shape of the `sqlite3` package, for Sequelize's `dialectModule`. Built in, so nothing is
 * compiled at install, and without `sqlite3`'s rounding of large integers.
 */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import {
  BUSY,
  bindings,
  fromSql,
  type Parameters,
  type ResultRow,
  rowFromSql,
  SqliteError,
  sqliteError,
} from "./values.ts";
import { type WriterLock, writerLockOf } from "./writer-lock.ts";

interface Metadata {
  lastID?: unknown;
  changes?: unknown;
}
type Callback = (this: Metadata, error: Error | null, rows?: ResultRow[]) => void;
type Method = "run" | "all";

export const OPEN_READONLY = 1;
export const OPEN_READWRITE = 2;
export const OPEN_CREATE = 4;

/** Milliseconds a statement waits for other writers, in this process and in others, before it fails as busy. */
const WAIT_MS = 5_000;
/** Milliseconds SQLite itself may wait in one go; it blocks the event loop, so the longer wait is ours. */
const BLOCKING_WAIT_MS = 20;

const BEGINS = /^\s*BEGIN\b/i;
const ENDS = /^\s*(COMMIT|END|ROLLBACK)\b(?!\s+TO)/i;
const READS = /^\s*(SELECT|PRAGMA|EXPLAIN)\b/i;

export class Database {
  readonly filename: string;
  /** Set by Sequelize on the connections of transactions. */
  uuid?: string;
  readonly #database: DatabaseSync;
  readonly #lock: WriterLock;

  constructor(filename: string, mode: number, opened: (error: Error | null) => void) {
    this.filename = filename;
    this.#lock = writerLockOf(filename);
    this.#database = new DatabaseSync(filename, {
      open: false,
      timeout: BLOCKING_WAIT_MS,
      readOnly: (mode & OPEN_READONLY) !== 0,
    });
    this.#open().then(
      () => opened(null),
      (error: unknown) => opened(sqliteError(error)),
    );
  }

  /** Sequelize asks for statements in order; each of its connections runs one at a time anyway. */
  serialize(work: () => void): void {
    work();
  }

  run(sql: string, parameters?: Parameters | Callback, callback?: Callback): this {
    return this.#start("run", sql, parameters, callback);
  }

  all(sql: string, parameters?: Parameters | Callback, callback?: Callback): this {
    return this.#start("all", sql, parameters, callback);
  }

  close(closed?: (error: Error | null) => void): void {
    this.#lock.abandon(this);
    try {
      if (this.#database.isOpen) this.#database.close();
    } catch (error) {
      closed?.(sqliteError(error));
      return;
    }
    closed?.(null);
  }

  async #open(): Promise<void> {
    this.#database.open();
    if (this.filename === ":memory:") return;
    // With WAL readers never wait for the writer. It is a property of the file: set once, by whoever comes first.
    await this.#untilNotBusy(() => {
      const mode = this.#database.prepare("PRAGMA journal_mode").get();
      if (mode?.["journal_mode"] !== "wal") this.#database.exec("PRAGMA journal_mode = WAL");
      this.#database.exec("PRAGMA synchronous = NORMAL");
    });
  }

  #start(method: Method, sql: string, parameters: Parameters | Callback | undefined, callback?: Callback): this {
    const done = typeof parameters === "function" ? parameters : callback;
    const values = typeof parameters === "function" || parameters === undefined ? [] : parameters;
    this.#execute(method, sql, values).then(
      ({ metadata, rows }) => done?.call(metadata, null, rows),
      (error: unknown) => done?.call({}, sqliteError(error)),
    );
    return this;
  }

  async #execute(method: Method, sql: string, values: Parameters): Promise<{ metadata: Metadata; rows?: ResultRow[] }> {
    const begins = BEGINS.test(sql);
    const inTransaction = this.#database.isTransaction;
    const writes = begins || !(READS.test(sql) || ENDS.test(sql));
    if (writes && !this.#lock.isHeldBy(this) && !(await this.#lock.acquire(this, WAIT_MS))) {
      throw new SqliteError(BUSY, "database is locked");
    }
    try {
      // IMMEDIATE takes SQLite's write lock at once: a deferred transaction may fail half-way when it turns to writing.
      const run = () => this.#run(method, begins ? "BEGIN IMMEDIATE" : sql, values);
      return inTransaction ? run() : await this.#untilNotBusy(run);
    } finally {
      if (!this.#database.isOpen || !this.#database.isTransaction) this.#lock.release(this);
    }
  }

  #run(method: Method, sql: string, values: Parameters): { metadata: Metadata; rows?: ResultRow[] } {
    const statement = this.#database.prepare(sql);
    statement.setReadBigInts(true);
    statement.setAllowUnknownNamedParameters(true);
    const { named, listed } = bindings(values);
    if (method === "all") {
      const rows = named === undefined ? statement.all(...listed) : statement.all(named);
      return { metadata: {}, rows: rows.map(rowFromSql) };
    }
    const { lastInsertRowid, changes } = named === undefined ? statement.run(...listed) : statement.run(named);
    return { metadata: { lastID: fromSql(lastInsertRowid), changes: fromSql(changes) } };
  }

  /** Tries again while another process holds the file; nothing was done by a statement that was busy. */
  async #untilNotBusy<T>(work: () => T): Promise<T> {
    const giveUpAt = performance.now() + WAIT_MS;
    for (;;) {
      try {
        return work();
      } catch (error) {
        const failure = sqliteError(error);
        const busy = failure instanceof SqliteError && (failure.errno & 0xff) === BUSY;
        if (!busy || performance.now() > giveUpAt) throw failure;
        await delay(5 + Math.random() * 20);
      }
    }
  }
}
