/**
 * What every model is made of. One definition per table and per Sequelize instance, so that two stores can live in
 * one process. Columns are snake_case of the attribute. The tables themselves are made by `migrations/`.
 *
 * Never query with `raw: true`: dates and JSON would come back as text.
 */
import {
  type Attributes,
  DataTypes,
  type Model,
  type ModelAttributes,
  type ModelStatic,
  type Sequelize,
} from "sequelize";
import { ulid } from "ulid";

type NullableKeys<R> = { [K in keyof R]: null extends R[K] ? K : never }[keyof R];
type OptionalKeys<R> = NullableKeys<R> | Extract<keyof R, "id">;

/** What must be given to create a row: everything but the id and what may be null. */
export type NewRow<R extends object> = Omit<R, OptionalKeys<R>> & Partial<Pick<R, OptionalKeys<R>>>;
/** A row read from the database: its attributes, and Sequelize's instance methods. */
export type Row<R extends object> = Model<R, NewRow<R>> & R;
export type Table<R extends object> = ModelStatic<Row<R>>;

interface Optional {
  allowNull?: boolean;
}

/**
 * Defines the model of one table.
 * @param unique attribute lists of the table's unique constraints, so that `upsert` knows its conflict target
 */
export function defineTable<R extends object>(
  sequelize: Sequelize,
  table: string,
  columns: ModelAttributes<Row<R>, Attributes<Row<R>>>,
  unique: (keyof R & string)[][] = [],
): Table<R> {
  return sequelize.define<Row<R>>(table, columns, {
    tableName: table,
    timestamps: false,
    underscored: true,
    indexes: unique.map((fields) => ({ unique: true, fields })),
  });
}

/** Primary key: a ULID, made here unless given. */
export function id() {
  return { type: DataTypes.CHAR(26), primaryKey: true, allowNull: false, defaultValue: () => ulid() };
}

/** Refers to a row of another table by its ULID. */
export function reference({ allowNull = false }: Optional = {}) {
  return { type: DataTypes.CHAR(26), allowNull };
}

/** 64 hexadecimal characters of a SHA-256 or HMAC-SHA-256. */
export function digest({ allowNull = false }: Optional = {}) {
  return { type: DataTypes.CHAR(64), allowNull };
}

/** A string of at most `length` characters; `length` counts characters, not bytes. */
export function string(length: number, { allowNull = false }: Optional = {}) {
  return { type: DataTypes.STRING(length), allowNull };
}

/** Text up to 16 MiB. */
export function text({ allowNull = false }: Optional = {}) {
  return { type: DataTypes.TEXT("medium"), allowNull };
}

/** A moment in UTC, to the millisecond. */
export function moment({ allowNull = false }: Optional = {}) {
  return { type: DataTypes.DATE(3), allowNull };
}

export function integer({ allowNull = false }: Optional = {}) {
  return { type: DataTypes.INTEGER, allowNull };
}

/** One of a closed list. SQLite has no ENUM, so the table carries a CHECK and the model refuses it earlier. */
export function oneOf(values: readonly string[], { allowNull = false }: Optional = {}) {
  return { type: DataTypes.STRING(24), allowNull, validate: { isIn: [[...values]] } };
}

/**
 * A JSON document kept as text, not as the database's JSON type: MySQL's reorders keys, and definitions are
 * hashed and shown verbatim. Reading gives a fresh copy each time.
 */
export function json(attribute: string, { allowNull = false }: Optional = {}) {
  return {
    type: DataTypes.TEXT("medium"),
    allowNull,
    get(this: Model): unknown {
      const stored: unknown = this.getDataValue(attribute);
      return typeof stored === "string" ? JSON.parse(stored) : stored;
    },
    set(this: Model, value: unknown): void {
      this.setDataValue(attribute, value === null || value === undefined ? null : JSON.stringify(value));
    },
  };
}
