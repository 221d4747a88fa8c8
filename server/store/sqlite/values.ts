/** Values and errors between `node:sqlite` and the shape Sequelize expects of the `sqlite3` package. */
import type { SQLInputValue } from "node:sqlite";

export type ResultRow = Record<string, unknown>;
export type Parameters = readonly unknown[] | Readonly<Record<string, unknown>>;

function toSql(value: unknown): SQLInputValue {
  if (value === undefined || value === null) return null;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`SQLite cannot store a ${typeof value}`);
}

/** The same parameters as `node:sqlite` takes them. Named ones are an object, others a list. */
export function bindings(parameters: Parameters): {
  named: Record<string, SQLInputValue> | undefined;
  listed: SQLInputValue[];
} {
  if (isList(parameters)) return { named: undefined, listed: parameters.map(toSql) };
  const named = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, toSql(value)]));
  return { named, listed: [] };
}

function isList(parameters: Parameters): parameters is readonly unknown[] {
  return Array.isArray(parameters);
}

/** Integers are read as bigint so that none is rounded; those a number can hold become numbers, as in mysql2. */
export function fromSql(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value;
}

export function rowFromSql(row: ResultRow): ResultRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, fromSql(value)]));
}

/** An error as `sqlite3` raises it: Sequelize tells errors apart by `code` and parses the message. */
export class SqliteError extends Error {
  override readonly name = "SqliteError";
  readonly code: string;
  readonly errno: number;
  constructor(errno: number, reason: string, cause?: unknown) {
    const code = CODES[errno] ?? CODES[errno & 0xff] ?? "SQLITE_ERROR";
    super(`${code}: ${reason}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.errno = errno;
  }
}

// https://www.sqlite.org/rescode.html: primary result codes, and the extended ones that Sequelize tells apart
const CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
  275: "SQLITE_CONSTRAINT_CHECK",
  787: "SQLITE_CONSTRAINT_FOREIGNKEY",
  1299: "SQLITE_CONSTRAINT_NOTNULL",
  1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
  1811: "SQLITE_CONSTRAINT_TRIGGER",
  2067: "SQLITE_CONSTRAINT_UNIQUE",
};

export const BUSY = 5;

/** The same failure as a `SqliteError`; what is no error of SQLite's comes back as it is. */
export function sqliteError(error: unknown): Error {
  if (error instanceof SqliteError) return error;
  if (!(error instanceof Error)) return new Error(String(error));
  const errno: unknown = "errcode" in error ? error.errcode : undefined;
  return typeof errno === "number" ? new SqliteError(errno, error.message, error) : error;
}
