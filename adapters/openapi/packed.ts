/**
 * The plans of a connection's operations as they are kept in its memory: small enough for tens of thousands of them,
 * and read one by one. Only this is stored, not the document.
 */
import { promisify } from "node:util";
import { gunzip, gzipSync } from "node:zlib";
import type { OperationPlan } from "../http-request/plan.ts";

const inflate = promisify(gunzip);
/** Characters of unpacked plans; memory that says otherwise was not written here. */
const MAX_UNPACKED = 256 * 1024 * 1024;

/** A line per operation: its name as JSON, a tab, its plan as JSON. */
export function packPlans(plans: Iterable<readonly [string, OperationPlan]>): string {
  const lines: string[] = [];
  for (const [action, plan] of plans) lines.push(`${JSON.stringify(action)}\t${JSON.stringify(plan)}`);
  return gzipSync(lines.join("\n"), { level: 6 }).toString("base64");
}

export class Plans {
  readonly #lines: ReadonlyMap<string, string>;

  private constructor(lines: ReadonlyMap<string, string>) {
    this.#lines = lines;
  }

  static async unpack(packed: string): Promise<Plans> {
    const bytes = await inflate(Buffer.from(packed, "base64"), { maxOutputLength: MAX_UNPACKED });
    const lines = new Map<string, string>();
    for (const line of bytes.toString("utf8").split("\n")) {
      const at = line.indexOf("\t");
      if (at === -1) continue;
      const action: unknown = JSON.parse(line.slice(0, at));
      if (typeof action === "string") lines.set(action, line.slice(at + 1));
    }
    return new Plans(lines);
  }

  get(action: string): OperationPlan | undefined {
    const line = this.#lines.get(action);
    return line === undefined ? undefined : parsePlan(line);
  }

  *entries(): Generator<[string, OperationPlan]> {
    for (const [action, line] of this.#lines) yield [action, parsePlan(line)];
  }
}

/** Written by `packPlans`, so of that shape. */
function parsePlan(line: string): OperationPlan {
  return JSON.parse(line);
}
