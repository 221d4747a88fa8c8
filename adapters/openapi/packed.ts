/**
 * What a connection's memory keeps of each operation (how it is called, and its whole schema where the listed one was
 * cut): small enough for tens of thousands of them, and read one by one. Only this is stored, not the document.
 */
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzip, gzipSync } from "node:zlib";
import type { JsonObject } from "../contract.ts";
import { isObject } from "../http-request/json.ts";
import type { OperationPlan } from "../http-request/plan.ts";

const inflate = promisify(gunzip);
/** Characters of unpacked entries; memory that says otherwise was not written here. */
const MAX_UNPACKED = 256 * 1024 * 1024;
/** Entries that are looked at between two turns of the event loop. */
const AT_ONCE = 1000;

/** A line per operation: its name as JSON, a tab, what is kept of it as JSON. */
export function pack(entries: Iterable<readonly [string, unknown]>): string {
  const lines: string[] = [];
  for (const [action, value] of entries) lines.push(`${JSON.stringify(action)}\t${JSON.stringify(value)}`);
  return gzipSync(lines.join("\n"), { level: 6 }).toString("base64");
}

async function unpack(packed: string): Promise<Map<string, string>> {
  const bytes = await inflate(Buffer.from(packed, "base64"), { maxOutputLength: MAX_UNPACKED });
  const lines = new Map<string, string>();
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    const line = bytes.toString("utf8", from, end === -1 ? bytes.length : end);
    from = end === -1 ? bytes.length : end + 1;
    const at = line.indexOf("\t");
    if (at === -1) continue;
    const action: unknown = JSON.parse(line.slice(0, at));
    if (typeof action === "string") lines.set(action, line.slice(at + 1));
    if (lines.size % AT_ONCE === 0) await setImmediate();
  }
  return lines;
}

export class Plans {
  readonly #lines: ReadonlyMap<string, string>;

  private constructor(lines: ReadonlyMap<string, string>) {
    this.#lines = lines;
  }

  static async unpack(packed: string): Promise<Plans> {
    return new Plans(await unpack(packed));
  }

  get(action: string): OperationPlan | undefined {
    const line = this.#lines.get(action);
    return line === undefined ? undefined : parsePlan(line);
  }

  *entries(): Generator<[string, OperationPlan]> {
    for (const [action, line] of this.#lines) yield [action, parsePlan(line)];
  }
}

/** Written by `pack`, so of that shape. */
function parsePlan(line: string): OperationPlan {
  return JSON.parse(line);
}

/** One schema of those that were packed. */
export async function unpackSchema(packed: string, action: string): Promise<JsonObject | undefined> {
  const line = (await unpack(packed)).get(action);
  const schema: unknown = line === undefined ? undefined : JSON.parse(line);
  return isObject(schema) ? schema : undefined;
}
