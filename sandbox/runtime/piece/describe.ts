/** Tells what is in a piece, as data: `PieceDescription` of `contract.ts`. */
import { type Entry, isEntry, isWork, type Piece } from "./find.ts";
import { needsOf } from "./needs.ts";

const DEEPEST = 24;

/** Own data, deep; functions by name in `functions`, what refers back to itself left out. */
function dataOf(value: unknown, above: readonly unknown[]): unknown {
  if (typeof value === "bigint") return String(value);
  if (!isEntry(value)) return value;
  if (above.length > DEEPEST || above.includes(value)) return undefined;
  const within = [...above, value];
  if (Array.isArray(value)) return value.map((item: unknown) => dataOf(item, within) ?? null);
  if (value instanceof Date) return value.toJSON();
  const entries = Object.entries(value);
  const functions = entries.filter(([, item]) => isWork(item)).map(([name]) => name);
  const data = entries
    .filter(([, item]) => !isWork(item))
    .map(([name, item]) => [name, dataOf(item, within)] as const)
    .filter(([, item]) => item !== undefined);
  return Object.fromEntries([...data, ...(functions.length > 0 ? [["functions", functions] as const] : [])]);
}

export function described(entry: unknown): unknown {
  return dataOf(entry, []) ?? null;
}

/** An action, and what its code says that it needs. */
function describedAction(action: unknown): unknown {
  const needs = isEntry(action) ? needsOf(action["run"]) : [];
  const data = described(action);
  return isEntry(data) && needs.length > 0 ? { ...data, needs } : data;
}

/** `1` or `2`; `0` where the piece does not say. */
function contextVersion(entry: Entry): string {
  const tell = entry["getContextInfo"];
  const info: unknown = isWork(tell) ? Reflect.apply(tell, entry, []) : undefined;
  return isEntry(info) ? String(info["version"]) : "0";
}

export function describePiece({ entry, actions, triggers }: Piece): object {
  const { auth, displayName, description } = entry;
  const forms: unknown[] = Array.isArray(auth) ? auth : auth === undefined || auth === null ? [] : [auth];
  return {
    displayName: String(displayName),
    ...(typeof description === "string" && { description }),
    contextVersion: contextVersion(entry),
    auth: forms.map(described),
    actions: Object.fromEntries([...actions].map(([name, action]) => [name, describedAction(action)])),
    triggers,
  };
}
