/** Reads a paginated list to its end, whatever the upstream does about ending it. */
import { type JsonObject, type Log, UpstreamError } from "../contract.ts";

const MAX_ITEMS = 10_000;
const MAX_PAGES = 1_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Milliseconds for all pages together. */
const MAX_MS = 120_000;

/**
 * Drains every page through `page(cursor)` and returns the items under `key`, each object once by `identity`.
 * A cursor seen before ends the list with what is there: the upstream ignores cursors. A list with ever new cursors
 * is an `upstream_protocol` error past 10,000 items, 1,000 pages, 32 MiB or two minutes.
 */
export async function drain(options: {
  key: string;
  identity: string;
  page: (cursor: string | undefined) => Promise<JsonObject>;
  log: Log;
}): Promise<JsonObject[]> {
  const { key, identity, page, log } = options;
  const items = new Map<string, JsonObject>();
  const cursors = new Set<string>();
  const started = performance.now();
  let bytes = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const result = await page(cursor);
    const list = result[key];
    if (!Array.isArray(list)) throw new UpstreamError("upstream_protocol", `The service's list has no ${key}.`);
    for (const item of list) {
      const id = isObject(item) ? item[identity] : undefined;
      if (!isObject(item) || typeof id !== "string") {
        log.warn({ list: key }, `an entry without ${identity} was left out`);
        continue;
      }
      bytes += JSON.stringify(item).length;
      if (!items.has(id)) items.set(id, item);
    }
    if (items.size > MAX_ITEMS || bytes > MAX_BYTES) throw endless(key);
    const next = result["nextCursor"];
    if (typeof next !== "string") break;
    if (cursors.has(next)) {
      log.warn({ list: key, pages }, "the service repeats a cursor; the list ends here");
      break;
    }
    if (pages >= MAX_PAGES || performance.now() - started > MAX_MS) throw endless(key);
    cursors.add(next);
    cursor = next;
  }
  return [...items.values()];
}

function endless(key: string): UpstreamError {
  return new UpstreamError("upstream_protocol", `The service's list of ${key} is too long or does not end.`);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
