/**
 * The stable names of operations, over which a connection's patterns are written: the `operationId` as it is, else
 * words of method and path. A name is given out once per (method, path): whatever a later document says, the operation
 * keeps it. How it is shown to callers is the gateway's affair.
 */
import { plainText, shortHash } from "./words.ts";

export interface Named {
  /** Upper case. */
  method: string;
  path: string;
  operationId: unknown;
}

const MAX_NAME = 200;

/** What names an operation for good. */
export function identityOf({ method, path }: Pick<Named, "method" | "path">): string {
  return `${method} ${path}`;
}

/**
 * @param known identity -> name, of earlier imports; never changed
 * @returns identity -> name, independent of the order of operations
 */
export function actionNames(operations: readonly Named[], known: ReadonlyMap<string, string>): Map<string, string> {
  const names = new Map<string, string>();
  const wanted = new Map<string, string[]>();
  const taken = new Set([...known.values()].map(fold));
  for (const operation of operations) {
    const identity = identityOf(operation);
    const before = known.get(identity);
    if (before !== undefined) {
      names.set(identity, before);
      continue;
    }
    const name = plainName(operation);
    const group = wanted.get(fold(name));
    if (group) group.push(identity);
    else wanted.set(fold(name), [identity]);
  }
  const bases = new Map(operations.map((operation) => [identityOf(operation), plainName(operation)]));
  for (const [folded, group] of wanted) {
    const alone = group.length === 1 && !taken.has(folded);
    for (const identity of group) {
      const base = bases.get(identity) ?? identity;
      // All who share a name get a hash, and never a number: which of them came first would change with the document.
      names.set(identity, alone ? base : `${base}_${shortHash(identity)}`);
    }
  }
  return names;
}

function plainName(operation: Named): string {
  const { operationId } = operation;
  const given = typeof operationId === "string" || typeof operationId === "number" ? String(operationId) : "";
  const clean = plainText(given.replace(/[<>]/g, "_")).replace(/\s+/g, " ");
  if (/[\p{L}\p{N}]/u.test(clean) && clean.length <= MAX_NAME) return clean;
  return nameOfPath(operation);
}

/** `GET /users/{id}/files` -> `get_users_by_id_files`. */
function nameOfPath({ method, path }: Named): string {
  const words = path
    .replace(/\{([^{}]+)\}/g, (_whole, name: string) => `/by_${name}/`)
    .split(/[^A-Za-z0-9_]+/)
    .filter((word) => word !== "");
  const name = [method.toLowerCase(), ...words].join("_").replace(/_{2,}/g, "_");
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 7)}_${shortHash(`${method} ${path}`)}`;
}

function fold(name: string): string {
  return name.toLowerCase();
}
