/** Writes CREATE TABLE for both dialects, so that a migration states a table once. Used by `migrations/`. */
import type { MigrationContext } from "./migrate.ts";

export interface Column {
  readonly sqlite: string;
  readonly mysql: string;
  readonly nullable: boolean;
  /** A condition over the column, written with `?` for its name. */
  readonly check?: string;
}

// Identifiers, hashes and slugs compare byte by byte: the databases' default collations ignore case.
const ascii = (type: string): string => `${type} CHARACTER SET ascii COLLATE ascii_bin`;

function column(sqlite: string, mysql: string, check?: string): Column {
  return check === undefined ? { sqlite, mysql, nullable: false } : { sqlite, mysql, nullable: false, check };
}

/** Lets a column hold NULL. */
export function nullable(of: Column): Column {
  return { ...of, nullable: true };
}

/** A ULID. */
export const ulidColumn = column("CHAR(26)", ascii("CHAR(26)"));
/** Hexadecimal SHA-256. */
export const digestColumn = column("CHAR(64)", ascii("CHAR(64)"));
/** UTC with milliseconds; a bare DATETIME would drop them on MySQL. */
export const momentColumn = column("DATETIME", "DATETIME(3)");
export const integerColumn = column("INTEGER", "INTEGER");
/** Up to 16 MiB of text; a bare TEXT would end at 64 KiB on MySQL. */
export const textColumn = column("TEXT", "MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
/** A JSON document, kept as text: MySQL's JSON type reorders keys. */
export const jsonColumn = textColumn;
/** Primary key counted up by the database. */
export const sequenceColumn = column("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT AUTO_INCREMENT PRIMARY KEY");

/** A name of ASCII characters only, compared byte by byte. */
export function asciiColumn(length: number): Column {
  return column(`VARCHAR(${length})`, ascii(`VARCHAR(${length})`));
}

/** Text of people. */
export function stringColumn(length: number): Column {
  return column(`VARCHAR(${length})`, `VARCHAR(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
}

/** One of a closed list, enforced by both databases. */
export function stateColumn(values: readonly string[]): Column {
  return column("VARCHAR(24)", ascii("VARCHAR(24)"), `? IN (${values.map((value) => `'${value}'`).join(", ")})`);
}

export interface TableShape {
  readonly columns: Readonly<Record<string, Column>>;
  /** Column of the primary key; absent where a column is a `sequenceColumn`. */
  readonly primaryKey?: string;
  readonly unique?: readonly (readonly string[])[];
  readonly indexes?: readonly (readonly string[])[];
}

/**
 * Creates a table with its keys, unless it is there: a migration that stopped half-way on MySQL, whose DDL commits
 * by itself, can be run again.
 */
export async function createTable(context: MigrationContext, name: string, shape: TableShape): Promise<void> {
  const mysql = context.dialect === "mysql";
  const indexName = (columns: readonly string[]): string => nameOfIndex(name, columns);
  const parts = Object.entries(shape.columns).map(([key, of]) => {
    const check = of.check === undefined ? "" : ` CHECK (${of.check.replace("?", `\`${key}\``)})`;
    return `\`${key}\` ${mysql ? of.mysql : of.sqlite}${of.nullable ? "" : " NOT NULL"}${check}`;
  });
  if (shape.primaryKey !== undefined) parts.push(`PRIMARY KEY (\`${shape.primaryKey}\`)`);
  for (const columns of shape.unique ?? []) {
    parts.push(`CONSTRAINT \`${indexName(columns)}\` UNIQUE (${quoted(columns)})`);
  }
  if (mysql) {
    for (const columns of shape.indexes ?? []) parts.push(`INDEX \`${indexName(columns)}\` (${quoted(columns)})`);
  }
  const suffix = mysql ? " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" : "";
  await context.query(`CREATE TABLE IF NOT EXISTS \`${name}\` (\n  ${parts.join(",\n  ")}\n)${suffix}`);
  if (mysql) return;
  for (const columns of shape.indexes ?? []) {
    await context.query(`CREATE INDEX IF NOT EXISTS \`${indexName(columns)}\` ON \`${name}\` (${quoted(columns)})`);
  }
}

/** Drops a table made by `createTable`. */
export async function dropTable(context: MigrationContext, name: string): Promise<void> {
  await context.query(`DROP TABLE IF EXISTS \`${name}\``);
}

/**
 * Adds columns that may be NULL to a table, those that it does not have yet: like `createTable` it can run again where
 * it stopped half-way.
 */
export async function addColumns(
  context: MigrationContext,
  table: string,
  columns: Readonly<Record<string, Column>>,
): Promise<void> {
  for (const [key, of] of Object.entries(columns)) {
    const type = context.dialect === "mysql" ? of.mysql : of.sqlite;
    const sql = `ALTER TABLE \`${table}\` ADD COLUMN \`${key}\` ${type}`;
    await unlessThere(/ER_DUP_FIELDNAME|duplicate column name/i, context.query(sql));
  }
}

/** Adds an index to a table that may have it already. NULLs are not equal to one another in a unique one. */
export async function addIndex(
  context: MigrationContext,
  table: string,
  columns: readonly string[],
  { unique = false }: { unique?: boolean } = {},
): Promise<void> {
  const sql = `INDEX \`${nameOfIndex(table, columns)}\` ON \`${table}\` (${quoted(columns)})`;
  await unlessThere(/ER_DUP_KEYNAME|already exists/i, context.query(`CREATE ${unique ? "UNIQUE " : ""}${sql}`));
}

/** Drops an index made by `addIndex`. */
export async function dropIndex(context: MigrationContext, table: string, columns: readonly string[]): Promise<void> {
  const name = nameOfIndex(table, columns);
  await context.query(
    context.dialect === "mysql" ? `DROP INDEX \`${name}\` ON \`${table}\`` : `DROP INDEX \`${name}\``,
  );
}

/** Drops columns made by `addColumns`; their indexes go first. */
export async function dropColumns(context: MigrationContext, table: string, columns: readonly string[]): Promise<void> {
  for (const key of columns) await context.query(`ALTER TABLE \`${table}\` DROP COLUMN \`${key}\``);
}

async function unlessThere(already: RegExp, done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    const parent: unknown = error instanceof Error && "parent" in error ? error.parent : undefined;
    const code = parent instanceof Error && "code" in parent ? String(parent.code) : "";
    if (!already.test(`${code} ${error instanceof Error ? error.message : ""}`)) throw error;
  }
}

function quoted(columns: readonly string[]): string {
  return columns.map((key) => `\`${key}\``).join(", ");
}

function nameOfIndex(table: string, columns: readonly string[]): string {
  return `${table}_${columns.join("_")}`.slice(0, 64);
}
