/** Local references of one document, followed one by one and only when they are needed. Nothing is ever fetched. */
import type { JsonObject } from "../contract.ts";
import { isObject } from "../http-request/json.ts";

/** References that lead to references are followed this far; a longer chain is a circle. */
const MAX_CHAIN = 40;
const MAX_WARNINGS = 200;

export interface Resolved {
  value: unknown;
  /** Where it stands, as a JSON Pointer without `#`; undefined where no reference was followed. */
  pointer: string | undefined;
}

export class References {
  readonly #root: JsonObject;
  readonly #warnings = new Set<string>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  get warnings(): string[] {
    return [...this.#warnings];
  }

  warn(words: string): void {
    if (this.#warnings.size < MAX_WARNINGS) this.#warnings.add(words.slice(0, 300));
  }

  /** Follows `$ref` where the value has one. Undefined, and a warning, where it leads nowhere or outside. */
  resolve(value: unknown): Resolved | undefined {
    let found: Resolved = { value, pointer: undefined };
    for (let hops = 0; isObject(found.value) && typeof found.value["$ref"] === "string"; hops += 1) {
      const ref = found.value["$ref"];
      if (hops >= MAX_CHAIN) {
        this.warn(`${ref}: leads in a circle`);
        return undefined;
      }
      const target = this.#target(ref);
      if (target === undefined) return undefined;
      found = target;
    }
    return found;
  }

  /** The object behind a reference, or undefined. */
  object(value: unknown): JsonObject | undefined {
    const resolved = this.resolve(value)?.value;
    return isObject(resolved) ? resolved : undefined;
  }

  #target(ref: string): Resolved | undefined {
    if (!ref.startsWith("#")) {
      this.warn(`${ref}: is outside of the document and was not fetched`);
      return undefined;
    }
    const pointer = decodedPointer(ref.slice(1));
    let value: unknown = this.#root;
    for (const token of pointer.split("/").slice(1)) {
      const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
      // A reference may go through another one (`#/components/schemas/A/properties/b` where A is a reference).
      if (isObject(value) && typeof value["$ref"] === "string" && !Object.hasOwn(value, key)) {
        value = this.resolve(value)?.value;
      }
      if (Array.isArray(value) && /^\d+$/.test(key)) value = value[Number(key)];
      else value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
      if (value === undefined) break;
    }
    if (value === undefined || !pointer.startsWith("/")) {
      this.warn(`${ref}: is not in the document`);
      return undefined;
    }
    return { value, pointer };
  }
}

function decodedPointer(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
