/**
 * Makes an input schema small enough for a model's context, step by step and no further than needed. What is cut
 * accepts anything, so a call may still hold it: the service checks it.
 */
import type { JsonObject } from "../contract.ts";
import { isObject, objectOf, stringsOf } from "../http-request/json.ts";
import { mapSchema, nameOf, walkRefs } from "./definitions.ts";
import { shortened } from "./words.ts";

type WordLimits = readonly [nested: number, own: number];

/** Bytes of one input schema. */
export const MAX_SCHEMA = 16 * 1024;
/** Bytes up to which descriptions stay as they are. */
const COMFORTABLE = 2304;
/** Characters of descriptions inside the arguments, and of those of the arguments themselves, step by step. */
const WORDS: readonly WordLimits[] = [
  [80, 160],
  [40, 120],
  [0, 80],
];
const LAST_WORDS: WordLimits = [0, 40];
const LONG_ENUM = 30;
const SHOWN_OF_ENUM = 10;

/**
 * @returns the schema, or a smaller one that accepts more, of at most `most` bytes; `cut` where more than descriptions
 *   was left out
 */
export function shrink(schema: JsonObject, most = MAX_SCHEMA): { schema: JsonObject; cut: boolean } {
  const bytes = bytesOf(schema);
  if (bytes <= COMFORTABLE) return { schema, cut: false };
  // Words first, and early: most of what a schema costs is descriptions of things whose names say as much.
  const lengths = wordLengths(schema);
  const saved = ([nested, own]: WordLimits) => over(lengths.nested, nested) + over(lengths.own, own);
  const limits = WORDS.find((each) => bytes - saved(each) <= COMFORTABLE) ?? LAST_WORDS;
  let small = clipWords(schema, limits);
  const cut = bytesOf(small) > most;
  const steps: ((schema: JsonObject) => JsonObject)[] = [
    withoutLongEnums,
    (given) => toDepth(given, 3),
    (given) => toDepth(given, 2),
    (given) => withoutOptional(given, most),
    (given) => toDepth(given, 0),
    withoutInside,
    (given) => withoutParameters(given, most),
  ];
  for (const step of steps) {
    if (bytesOf(small) <= most) break;
    small = pruned(step(small));
  }
  return { schema: small, cut };
}

export function bytesOf(schema: unknown): number {
  return Buffer.byteLength(JSON.stringify(schema));
}

/** Lengths of the descriptions of arguments, and of those inside them. */
function wordLengths(schema: JsonObject): { own: number[]; nested: number[] } {
  const own: number[] = [];
  const nested: number[] = [];
  const visit = (value: unknown, lengths: number[]) => {
    mapSchema(value, (object) => {
      const { description } = object;
      if (typeof description === "string") (object === value ? lengths : nested).push(description.length);
      return undefined;
    });
  };
  for (const value of Object.values(objectOf(schema["properties"]))) visit(value, own);
  for (const value of Object.values(objectOf(schema["$defs"]))) visit(value, nested);
  return { own, nested };
}

function over(lengths: readonly number[], most: number): number {
  return lengths.reduce((sum, length) => sum + Math.max(0, length - most), 0);
}

function clipWords(schema: JsonObject, [nested, own]: WordLimits): JsonObject {
  const shorter = (object: JsonObject, most: number): JsonObject => {
    const { description, ...rest } = object;
    if (typeof description !== "string") return object;
    return most === 0 ? rest : { ...rest, description: shortened(description, most) };
  };
  const inside = (value: unknown) => objectOf(mapProperty(value, (object) => shorter(object, nested)));
  const properties = Object.entries(objectOf(schema["properties"])).map(([name, value]) => {
    const described = objectOf(value)["description"];
    return [name, shorter({ ...inside(value), ...(described === undefined ? {} : { description: described }) }, own)];
  });
  const { properties: _own, ...rest } = schema;
  return { ...inside(rest), properties: Object.fromEntries(properties) };
}

function withoutLongEnums(schema: JsonObject): JsonObject {
  return objectOf(
    mapProperty(schema, (object) => {
      const values = object["enum"];
      if (!Array.isArray(values) || values.length <= LONG_ENUM) return object;
      const { enum: _dropped, ...rest } = object;
      const shown = values.slice(0, SHOWN_OF_ENUM).map((value) => String(value).slice(0, 40));
      return { ...rest, description: `One of ${values.length} values: ${shown.join(", ")}, …` };
    }),
  );
}

/** Definitions further than `depth` references away are cut. */
function toDepth(schema: JsonObject, depth: number): JsonObject {
  const definitions = objectOf(schema["$defs"]);
  const { $defs: _definitions, ...root } = schema;
  const near = new Set<string>();
  let edge: unknown[] = [root];
  for (let level = 0; level < depth && edge.length > 0; level += 1) {
    const next: unknown[] = [];
    for (const value of edge) {
      walkRefs(value, (name) => {
        if (near.has(name)) return;
        near.add(name);
        next.push(definitions[name]);
      });
    }
    edge = next;
  }
  const cut = (value: unknown): unknown =>
    mapSchema(value, (object) => {
      const name = nameOf(object["$ref"]);
      return name === undefined || near.has(name) ? undefined : { description: name };
    });
  const kept = Object.entries(definitions).filter(([name]) => near.has(name));
  const cutRoot = objectOf(cut(root));
  if (kept.length === 0) return cutRoot;
  return { ...cutRoot, $defs: Object.fromEntries(kept.map(([name, value]) => [name, cut(value)])) };
}

/** Optional properties inside the arguments go, the last ones first. */
function withoutOptional(schema: JsonObject, most: number): JsonObject {
  const copy = structuredClone(schema);
  const found: { object: JsonObject; properties: JsonObject; key: string; bytes: number }[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isObject(value)) return;
    const properties = value["properties"];
    if (isObject(properties)) {
      const required = new Set(stringsOf(value["required"]));
      for (const [key, item] of Object.entries(properties)) {
        if (!required.has(key)) found.push({ object: value, properties, key, bytes: bytesOf(item) + key.length + 4 });
        visit(item);
      }
    }
    for (const keyword of ["items", "prefixItems", "additionalProperties", "allOf", "anyOf", "not", "contains"]) {
      visit(value[keyword]);
    }
  };
  for (const item of Object.values(objectOf(copy["properties"]))) visit(item);
  for (const item of Object.values(objectOf(copy["$defs"]))) visit(item);
  let over = bytesOf(copy) - most;
  for (const { object, properties, key, bytes } of found.reverse()) {
    if (over <= 0) break;
    if (!Object.hasOwn(properties, key)) continue;
    delete properties[key];
    if (object["additionalProperties"] === false) delete object["additionalProperties"];
    over -= bytes;
  }
  return copy;
}

/** Only the arguments themselves are left, with their types and what they are for. */
function withoutInside(schema: JsonObject): JsonObject {
  const properties = Object.entries(objectOf(schema["properties"])).map(([name, value]) => {
    const { type, description } = objectOf(value);
    return [name, { ...(type === undefined ? {} : { type }), ...(description === undefined ? {} : { description }) }];
  });
  const { $defs: _definitions, ...rest } = schema;
  return { ...rest, properties: Object.fromEntries(properties) };
}

function withoutParameters(schema: JsonObject, most: number): JsonObject {
  const required = new Set(stringsOf(schema["required"]));
  const entries = Object.entries(objectOf(schema["properties"]));
  const kept = entries.filter(([name]) => required.has(name));
  for (const entry of entries) {
    if (required.has(entry[0])) continue;
    if (bytesOf({ ...schema, properties: Object.fromEntries([...kept, entry]) }) > most) break;
    kept.push(entry);
  }
  return { ...schema, properties: Object.fromEntries(kept) };
}

/** Without definitions that nothing refers to any more. */
function pruned(schema: JsonObject): JsonObject {
  const definitions = objectOf(schema["$defs"]);
  const { $defs: _definitions, ...root } = schema;
  const used = new Set<string>();
  const waiting: unknown[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    walkRefs(value, (name) => {
      if (used.has(name)) return;
      used.add(name);
      waiting.push(definitions[name] ?? {});
    });
  }
  const kept = Object.entries(definitions).filter(([name]) => used.has(name));
  return kept.length === 0 ? root : { ...root, $defs: Object.fromEntries(kept) };
}

/** Applies a change to every schema object, the inner ones first. */
function mapProperty(value: unknown, change: (object: JsonObject) => JsonObject): unknown {
  const inner = (object: JsonObject): unknown => {
    const changed = change(object);
    return Object.fromEntries(
      Object.entries(changed).map(([key, item]) => {
        if (key === "properties" || key === "$defs") {
          return [
            key,
            Object.fromEntries(Object.entries(objectOf(item)).map(([name, each]) => [name, mapProperty(each, change)])),
          ];
        }
        return [key, isObject(item) && key !== "default" && key !== "const" ? inner(item) : listOf(key, item, change)];
      }),
    );
  };
  return isObject(value) ? inner(value) : value;
}

function listOf(key: string, item: unknown, change: (object: JsonObject) => JsonObject): unknown {
  if (!Array.isArray(item) || key === "enum" || key === "required" || key === "type" || key === "default") return item;
  return item.map((each) => mapProperty(each, change));
}
