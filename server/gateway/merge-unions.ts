/**
 * One object schema out of a schema whose top is a union or a reference: `anyOf`, `oneOf`, `allOf`, `$ref`.
 *
 * The result allows more than the original: which combinations are really allowed is told in the description and
 * checked against the original on the call.
 */
import type { JsonObject } from "../../adapters/contract.ts";

/** Unions inside unions are followed this deep and this often; what lies beyond is treated as accepting anything. */
const MAX_DEPTH = 8;
const MAX_VISITS = 400;

/** Where one merge stands: references may lead in circles, and a hostile schema may branch without end. */
interface Walk {
  readonly root: JsonObject;
  visits: number;
}

interface Shape {
  properties: Map<string, unknown>;
  required: Set<string>;
  closed: boolean;
}

/** The schema itself where its top holds no union and no reference. */
export function mergeUnions(schema: JsonObject): JsonObject {
  if (!["anyOf", "oneOf", "allOf", "$ref"].some((keyword) => Object.hasOwn(schema, keyword))) return schema;
  const shape = shapeOf(schema, { root: schema, visits: 0 }, 0);
  const { anyOf: _any, oneOf: _one, allOf: _all, $ref: _ref, ...rest } = schema;
  const merged: JsonObject = { ...rest, type: "object", properties: Object.fromEntries(shape.properties) };
  // These look at the properties of one branch only; on the merged object they would refuse what a branch accepts.
  delete merged["unevaluatedProperties"];
  delete merged["additionalProperties"];
  if (shape.closed) merged["additionalProperties"] = false;
  if (shape.required.size > 0) merged["required"] = [...shape.required];
  else delete merged["required"];
  const hint = combinations(schema);
  if (hint !== undefined) {
    const own = schema["description"];
    merged["description"] = typeof own === "string" && own !== "" ? `${own}\n${hint}` : hint;
  }
  return merged;
}

function shapeOf(schema: JsonObject, walk: Walk, depth: number): Shape {
  walk.visits += 1;
  const shape: Shape = {
    properties: new Map(Object.entries(isObject(schema["properties"]) ? schema["properties"] : {})),
    required: new Set(strings(schema["required"])),
    closed: schema["additionalProperties"] === false,
  };
  if (depth >= MAX_DEPTH || walk.visits > MAX_VISITS) return { ...shape, closed: false };
  const parts = objects(schema["allOf"]);
  const target = resolve(schema["$ref"], walk.root);
  if (target) parts.unshift(target);
  for (const part of parts) addAll(shape, shapeOf(part, walk, depth + 1));
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = objects(schema[keyword]).map((branch) => shapeOf(branch, walk, depth + 1));
    if (branches.length > 0) addAll(shape, eitherOf(branches));
  }
  return shape;
}

/** Both must hold. */
function addAll(shape: Shape, other: Shape): void {
  for (const [key, value] of other.properties) {
    const known = shape.properties.get(key);
    if (known === undefined || isTrivial(known)) shape.properties.set(key, value);
    else if (!isTrivial(value) && !same(known, value)) shape.properties.set(key, { allOf: [known, value] });
  }
  for (const key of other.required) shape.required.add(key);
  shape.closed ||= other.closed;
}

/** At least one must hold. */
function eitherOf(branches: readonly Shape[]): Shape {
  const [first, ...others] = branches;
  const shape: Shape = {
    properties: new Map(),
    required: new Set([...(first?.required ?? [])].filter((key) => others.every((other) => other.required.has(key)))),
    closed: branches.every((branch) => branch.closed),
  };
  const keys = new Set(branches.flatMap((branch) => [...branch.properties.keys()]));
  for (const key of keys) {
    const variants: unknown[] = [];
    for (const branch of branches) {
      // An open branch that does not mention the key takes any value for it, but saying so would tell a model nothing.
      const variant = branch.properties.get(key);
      if (variant !== undefined && !variants.some((known) => same(known, variant))) variants.push(variant);
    }
    shape.properties.set(key, variants.length === 1 ? variants[0] : choiceOf(variants));
  }
  return shape;
}

/** `const` and `enum` variants of one key (a discriminator) become one `enum`; others stay a nested `anyOf`. */
function choiceOf(variants: readonly unknown[]): JsonObject {
  const values: unknown[] = [];
  for (const variant of variants) {
    if (!isObject(variant)) return { anyOf: [...variants] };
    if (Object.hasOwn(variant, "const")) values.push(variant["const"]);
    else if (Array.isArray(variant["enum"])) values.push(...variant["enum"]);
    else return { anyOf: [...variants] };
  }
  const distinct = values.filter((value, index) => values.findIndex((known) => same(known, value)) === index);
  const types = new Set(distinct.map((value) => typeof value));
  return { ...(types.size === 1 && types.has("string") ? { type: "string" } : {}), enum: distinct };
}

/** Tells a model which keys go together, where the top-level branches differ in what they require. */
function combinations(schema: JsonObject): string | undefined {
  const keyword = Object.hasOwn(schema, "oneOf") ? "oneOf" : "anyOf";
  const walk: Walk = { root: schema, visits: 0 };
  const sets = objects(schema[keyword]).map((branch) => [...shapeOf(branch, walk, 1).required].join(", "));
  const distinct = [...new Set(sets)];
  if (distinct.length < 2 || distinct.length > 12 || distinct.includes("")) return undefined;
  const word = keyword === "oneOf" ? "exactly one" : "at least one";
  return `Give ${word} of these sets of arguments: ${distinct.map((set) => `(${set})`).join(" or ")}.`;
}

function resolve(reference: unknown, root: JsonObject): JsonObject | undefined {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decodePointer(part);
    if (Array.isArray(at)) at = at[Number(key)];
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return isObject(at) ? at : undefined;
}

/** RFC 6901, section 6: percent-encoding first, then `~1` and `~0`. */
function decodePointer(part: string): string {
  let decoded = part;
  try {
    decoded = decodeURIComponent(part);
  } catch {
    decoded = part;
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isTrivial(value: unknown): boolean {
  return value === true || (isObject(value) && Object.keys(value).length === 0);
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}
