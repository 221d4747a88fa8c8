/** The keywords of a schema that hold no further schemas, each kept only where it is well formed. */
import type { JsonObject } from "../contract.ts";
import { isObject, stringsOf } from "../http-request/json.ts";

const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
/** Types that authors write and JSON Schema does not know. */
const ALIASES: Readonly<Record<string, string>> = {
  file: "string",
  date: "string",
  datetime: "string",
  "date-time": "string",
  uuid: "string",
  int: "integer",
  int32: "integer",
  int64: "integer",
  long: "integer",
  float: "number",
  double: "number",
  decimal: "number",
  bool: "boolean",
  list: "array",
  map: "object",
};
const BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
/** Characters of JSON that a default may have. */
const MAX_DEFAULT = 200;
const MAX_PATTERN = 500;

/** @param side an output is loosened: it only says which fields there are and what type they have */
export function keywordsOf(value: JsonObject, side: "input" | "output"): JsonObject {
  const out: JsonObject = {};
  const type = typeOf(value);
  if (type !== undefined) out["type"] = type;
  if (side === "output") return out;
  if (Array.isArray(value["enum"])) {
    const allowed = distinct(value["enum"].map((item) => typed(item, type)));
    if (allowed.length > 0) out["enum"] = allowed;
  }
  if (value["const"] !== undefined) out["const"] = value["const"];
  if (typeof value["format"] === "string" && /^[\w.-]{1,40}$/.test(value["format"])) out["format"] = value["format"];
  if (typeof value["pattern"] === "string" && isPattern(value["pattern"])) out["pattern"] = value["pattern"];
  for (const keyword of COUNTS) {
    const count = numberOf(value[keyword]);
    if (count !== undefined && Number.isInteger(count) && count >= 0) out[keyword] = count;
  }
  if (value["uniqueItems"] === true) out["uniqueItems"] = true;
  const step = numberOf(value["multipleOf"]);
  if (step !== undefined && step > 0) out["multipleOf"] = step;
  Object.assign(out, bounds(value));
  const initial = value["default"];
  if (initial !== undefined && initial !== null && (JSON.stringify(initial)?.length ?? MAX_DEFAULT) < MAX_DEFAULT) {
    out["default"] = typed(initial, type);
  }
  return out;
}

function typeOf(value: JsonObject): string | string[] | undefined {
  const given = Array.isArray(value["type"]) ? stringsOf(value["type"]) : [value["type"]];
  const types = given.flatMap((name) => {
    if (typeof name !== "string") return [];
    const known = TYPES.has(name) ? name : ALIASES[name.toLowerCase()];
    return known === undefined ? [] : [known];
  });
  const [first, ...others] = [...new Set(types)];
  if (first !== undefined) return others.length === 0 ? first : [first, ...others];
  return isObject(value["properties"]) && Object.keys(value["properties"]).length > 0 && value["type"] === undefined
    ? "object"
    : undefined;
}

/** YAML reads unquoted values by their looks; the declared type says what was meant. */
function typed(item: unknown, type: string | string[] | undefined): unknown {
  if (type === "string" && (typeof item === "number" || typeof item === "boolean")) return String(item);
  if ((type === "integer" || type === "number") && typeof item === "string") return numberOf(item) ?? item;
  if (type === "boolean" && (item === "true" || item === "false")) return item === "true";
  return item;
}

/** A repeated value makes a schema that validators refuse. */
function distinct(values: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  return values.filter((item) => {
    const key = JSON.stringify(item) ?? "";
    return key !== "" && !seen.has(key) && seen.add(key);
  });
}

/** Drafts before 6, and so OpenAPI before 3.1, had a boolean beside the bound. */
function bounds(value: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const keyword of BOUNDS) {
    const number = numberOf(value[keyword]);
    if (number !== undefined) out[keyword] = number;
  }
  for (const [flag, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (value[flag] !== true || out[bound] === undefined) continue;
    out[flag] = out[bound];
    delete out[bound];
  }
  return out;
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === "string" && /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i.test(value)) return Number(value);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** ECMA-262 with the `u` flag, as validators compile it. */
function isPattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
