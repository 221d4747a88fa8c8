/** Pure: what differs between two JSON values, leaf by leaf. */
import { canonicalJson } from "./digest.ts";

export interface Difference {
  /** Dotted path; empty for the value as a whole. */
  path: string;
  before?: unknown;
  after?: unknown;
}

/** Leaves that differ, in the order of the later value; lists are compared as a whole. */
export function differences(before: unknown, after: unknown, path = ""): Difference[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (!isObject(before) || !isObject(after)) {
    return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
  }
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...keys].flatMap((key) => {
    const at = path === "" ? key : `${path}.${key}`;
    return differences(ownOf(before, key), ownOf(after, key), at);
  });
}

function ownOf(holder: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
