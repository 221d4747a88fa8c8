/** Finds the piece, and its actions, in what a bundle exports: three generations of the framework do it differently. */

export type Work = (...args: unknown[]) => unknown;
export type Entry = { readonly [key: string]: unknown };

export interface Piece {
  readonly entry: Entry;
  readonly actions: ReadonlyMap<string, Entry>;
  readonly triggers: readonly string[];
}

export function isEntry(value: unknown): value is Entry {
  return typeof value === "object" && value !== null;
}

export function isWork(value: unknown): value is Work {
  return typeof value === "function";
}

/** A problem that is the piece's, not the call's. */
export class UnloadableError extends Error {
  override readonly name = "UnloadableError";
}

function isPiece(value: unknown): value is Entry {
  return isEntry(value) && "displayName" in value && (isWork(value["actions"]) || isEntry(value["_actions"]));
}

/** What stands behind `actions()` or `_actions`, by the name it runs under. */
function entriesOf(piece: Entry, name: "actions" | "triggers"): Map<string, Entry> {
  const method = piece[name];
  const found: unknown = isWork(method) ? Reflect.apply(method, piece, []) : piece[`_${name}`];
  const pairs: [string, unknown][] = Array.isArray(found)
    ? found.map((item: unknown) => [isEntry(item) ? String(item["name"]) : "", item])
    : Object.entries(isEntry(found) ? found : {});
  return new Map(pairs.filter((pair): pair is [string, Entry] => isEntry(pair[1])));
}

export function findPiece(exported: unknown): Piece {
  const module = isEntry(exported) ? exported : {};
  const inner = isEntry(module["default"]) ? module["default"] : {};
  const entry = [...Object.values(module), ...Object.values(inner), inner].find(isPiece);
  if (entry === undefined) throw new UnloadableError("the bundle exports no piece");
  return { entry, actions: entriesOf(entry, "actions"), triggers: [...entriesOf(entry, "triggers").keys()] };
}
