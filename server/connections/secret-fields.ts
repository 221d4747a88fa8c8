/**
 * What a submitted form makes of stored values, where some of them are secrets that the form never showed.
 *
 * A blank secret keeps the stored one. A list of rows gives each row an id that stays with it over edits, in whatever
 * order the rows come back, so that a blank cell keeps the secret of its own row and of no other. Pure: nothing is
 * sealed, read or written here.
 */

export interface FormCell {
  readonly name: string;
  readonly secret: boolean;
  readonly required?: boolean;
}

/** One field of a form: a single value, or a list of rows of values. */
export type FormField = FormCell | { readonly name: string; readonly rows: readonly FormCell[] };

type Cells = Readonly<Record<string, string>>;

/** A row as it is stored and shown: without its secrets. */
export interface Row {
  readonly id: string;
  readonly cells: Cells;
}

/** Values that may be stored and shown as they are. */
export type PlainValues = Readonly<Record<string, string | readonly Row[]>>;
/** Values for the vault. Those of rows stand under the id of their row. */
export type SecretValues = Readonly<Record<string, string | Readonly<Record<string, Cells>>>>;

export interface FormValues {
  readonly plain: PlainValues;
  readonly secrets: SecretValues;
}

/** A row as a browser sends it; one that was added in the form has no id. */
export interface SubmittedRow {
  readonly id?: string;
  readonly cells: Cells;
}

/** A field that is not there at all was not in the form, and keeps what it had. */
export type Submitted = Readonly<Record<string, string | readonly SubmittedRow[] | undefined>>;

export interface AppliedForm {
  readonly values: FormValues;
  /** Required cells without a value: `field`, or `field.<row's position from 1>.column`. */
  readonly missing: readonly string[];
}

/** What a page shows of a secret: whether there is one. */
export interface ShownCell {
  readonly name: string;
  /** Always empty for a secret. */
  readonly value: string;
  readonly isSet: boolean;
}

export interface ShownRow {
  readonly id: string;
  readonly cells: readonly ShownCell[];
}

export type ShownField = ShownCell | { readonly name: string; readonly rows: readonly ShownRow[] };

const NOTHING: FormValues = { plain: {}, secrets: {} };

/**
 * Applies a submitted form to what is stored.
 * @param newId makes the id of a row that was added
 */
export function applyForm(
  fields: readonly FormField[],
  stored: FormValues | undefined,
  submitted: Submitted,
  newId: () => string,
): AppliedForm {
  const before = stored ?? NOTHING;
  const plain: Record<string, string | readonly Row[]> = {};
  const secrets: Record<string, string | Readonly<Record<string, Cells>>> = {};
  const missing: string[] = [];
  for (const field of fields) {
    const given = submitted[field.name];
    if ("rows" in field) {
      const kept = rowsOf(before.plain[field.name]);
      const keptSecrets = rowSecretsOf(before.secrets[field.name]);
      const rows = typeof given === "object" ? identify(given, kept, newId) : kept;
      const rowSecrets: Record<string, Cells> = {};
      plain[field.name] = rows
        .filter((row) => !isEmpty(row, keptSecrets[row.id]))
        .map((row, index) => {
          const of = applyCells(
            field.rows,
            kept.find(({ id }) => id === row.id)?.cells,
            keptSecrets[row.id],
            row.cells,
          );
          if (Object.keys(of.secrets).length > 0) rowSecrets[row.id] = of.secrets;
          missing.push(...of.missing.map((name) => `${field.name}.${index + 1}.${name}`));
          return { id: row.id, cells: of.plain };
        });
      if (Object.keys(rowSecrets).length > 0) secrets[field.name] = rowSecrets;
      continue;
    }
    const name = field.name;
    const of = applyCells(
      [field],
      single(before.plain[name], name),
      single(before.secrets[name], name),
      single(given, name),
    );
    Object.assign(plain, of.plain);
    Object.assign(secrets, of.secrets);
    missing.push(...of.missing);
  }
  return { values: { plain, secrets }, missing };
}

/** What a page may show of stored values: everything but the secrets. */
export function showForm(fields: readonly FormField[], stored: FormValues | undefined): ShownField[] {
  const { plain, secrets } = stored ?? NOTHING;
  return fields.map((field): ShownField => {
    const { name } = field;
    if (!("rows" in field)) return showCell(field, single(plain[name], name), single(secrets[name], name));
    const rowSecrets = rowSecretsOf(secrets[name]);
    const rows = rowsOf(plain[name]).map(({ id, cells }) => ({
      id,
      cells: field.rows.map((cell) => showCell(cell, cells, rowSecrets[id] ?? {})),
    }));
    return { name, rows };
  });
}

function showCell({ name, secret }: FormCell, plain: Cells, secrets: Cells): ShownCell {
  if (secret) return { name, value: "", isSet: Object.hasOwn(secrets, name) };
  return { name, value: plain[name] ?? "", isSet: Object.hasOwn(plain, name) };
}

function applyCells(cells: readonly FormCell[], plainBefore: Cells = {}, secretsBefore: Cells = {}, given: Cells) {
  const plain: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const missing: string[] = [];
  for (const { name, secret, required = false } of cells) {
    const value = given[name];
    const kept = (secret ? secretsBefore : plainBefore)[name];
    // A secret that is blank is one that was not typed again; a plain value that is blank was deleted.
    const result = value === undefined || (secret && isBlank(value)) ? kept : value;
    if (result === undefined || isBlank(result)) {
      if (required) missing.push(name);
    } else (secret ? secrets : plain)[name] = result;
  }
  return { plain, secrets, missing };
}

/** Gives each row the id it had. An id that is none of this list's, or came before, makes a new row. */
function identify(given: readonly SubmittedRow[], kept: readonly Row[], newId: () => string): Row[] {
  const left = new Set(kept.map(({ id }) => id));
  return given.map(({ id, cells }) => ({ id: id !== undefined && left.delete(id) ? id : newId(), cells }));
}

/** A row that was added and never filled in. */
function isEmpty({ cells }: Row, secrets: Cells | undefined): boolean {
  return secrets === undefined && Object.values(cells).every(isBlank);
}

function isBlank(value: string): boolean {
  return value.trim() === "";
}

function single(value: unknown, name: string): Cells {
  return typeof value === "string" ? { [name]: value } : {};
}

function rowsOf(value: PlainValues[string] | undefined): readonly Row[] {
  return typeof value === "object" ? value : [];
}

function rowSecretsOf(value: SecretValues[string] | undefined): Readonly<Record<string, Cells>> {
  return typeof value === "object" ? value : {};
}
