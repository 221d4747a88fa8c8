/** One tool's schema with the definitions it needs, and no others. */
import type { JsonObject } from "../contract.ts";
import { isObject } from "../http-request/json.ts";
import type { Definition, Schemas } from "./schema.ts";

/** Bytes of a definition that is put in place wherever it is used: a reference would not be shorter. */
const SMALL = 64;
const MAX_DEFINITIONS = 5000;
/** Bytes of definitions that are put together in full. */
const MAX_WHOLE = 96 * 1024;
/** References from the arguments to a definition that is kept beyond that. */
const CUT_DEPTH = 3;

/** Keywords whose keys are names. */
export const NAME_MAPS: ReadonlySet<string> = new Set(["properties", "$defs"]);
/** Keywords whose values are data. */
export const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "required", "type"]);

/**
 * Puts definitions that are used once, or are small, in the place of their reference: some hosts lose `$defs`. What
 * leads back to itself stays a reference. Beyond `MAX_WHOLE` bytes, definitions far away are cut at once: such a schema
 * is never shown whole.
 */
export function assemble(root: JsonObject, refs: ReadonlySet<string>, schemas: Schemas): JsonObject {
  if (refs.size === 0) return root;
  const needed = reachable(refs, schemas);
  const circular = circles(needed);
  const uses = usesOf(root);
  for (const definition of needed.values()) {
    for (const [name, count] of definition.uses) uses.set(name, (uses.get(name) ?? 0) + count);
  }
  const inlined = new Map<string, JsonObject>();
  for (const [name, { schema, bytes, refs: inner }] of needed) {
    if (circular.has(name)) continue;
    if (uses.get(name) === 1 || (inner.size === 0 && bytes <= SMALL)) inlined.set(name, schema);
  }
  const expand = (value: unknown): unknown =>
    mapSchema(value, (object) => {
      const name = nameOf(object["$ref"]);
      if (name === undefined) return undefined;
      if (!needed.has(name)) return { description: name };
      const target = inlined.get(name);
      if (target === undefined) return undefined;
      const { $ref: _ref, ...beside } = object;
      return merged(expand(target), beside, expand);
    });
  const result = expand(root);
  const kept = [...needed].filter(([name]) => !inlined.has(name));
  if (!isObject(result)) return root;
  if (kept.length === 0) return result;
  return { ...result, $defs: Object.fromEntries(kept.map(([name, { schema }]) => [name, expand(schema)])) };
}

/** Bytes of all definitions that are needed, each counted once; no further than `most`. */
export function bytesOfNeeded(refs: ReadonlySet<string>, schemas: Schemas, most: number): number {
  const seen = new Set<string>(refs);
  let bytes = 0;
  for (const name of seen) {
    const definition = schemas.definition(name);
    bytes += definition.bytes;
    if (bytes > most) break;
    for (const inner of definition.refs) seen.add(inner);
  }
  return bytes;
}

/** A definition in place of its reference, with what stood beside the reference. */
function merged(target: unknown, beside: JsonObject, expand: (value: unknown) => unknown): unknown {
  const keys = Object.keys(beside);
  if (!isObject(target) || keys.length === 0) return target;
  const clash = keys.some((key) => key !== "description" && Object.hasOwn(target, key));
  if (!clash) return { ...target, ...objectFrom(expand(beside)) };
  return { ...objectFrom(expand(beside)), allOf: [target] };
}

function objectFrom(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

type Needed = Map<string, Definition>;

function reachable(refs: ReadonlySet<string>, schemas: Schemas): Needed {
  const needed: Needed = new Map();
  let bytes = 0;
  let level = [...refs].sort();
  for (let depth = 1; level.length > 0; depth += 1) {
    if (bytes > MAX_WHOLE && depth > CUT_DEPTH) break;
    const next = new Set<string>();
    for (const name of level) {
      if (needed.has(name) || needed.size >= MAX_DEFINITIONS) continue;
      const definition = schemas.definition(name);
      needed.set(name, definition);
      bytes += definition.bytes;
      for (const inner of definition.refs) next.add(inner);
    }
    level = [...next];
  }
  return needed;
}

/** The definitions that lead back to themselves: strongly connected components, after Tarjan, without recursion. */
function circles(needed: Needed): Set<string> {
  const circular = new Set<string>();
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const enter = (name: string) => {
    index.set(name, index.size);
    low.set(name, index.size - 1);
    stack.push(name);
    onStack.add(name);
    return { name, next: [...(needed.get(name)?.refs ?? [])], at: 0 };
  };
  for (const start of needed.keys()) {
    if (index.has(start)) continue;
    const frames = [enter(start)];
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const next = frame.next[frame.at];
      frame.at += 1;
      if (next !== undefined) {
        if (next === frame.name) circular.add(next);
        if (!index.has(next)) frames.push(enter(next));
        else if (onStack.has(next)) low.set(frame.name, Math.min(low.get(frame.name) ?? 0, index.get(next) ?? 0));
        continue;
      }
      frames.pop();
      const parent = frames.at(-1);
      if (parent) low.set(parent.name, Math.min(low.get(parent.name) ?? 0, low.get(frame.name) ?? 0));
      if (low.get(frame.name) !== index.get(frame.name)) continue;
      const component = stack.splice(stack.lastIndexOf(frame.name));
      for (const name of component) {
        onStack.delete(name);
        if (component.length > 1) circular.add(name);
      }
    }
  }
  return circular;
}

/** The name in `#/$defs/<name>`. */
export function nameOf(ref: unknown): string | undefined {
  return typeof ref === "string" && ref.startsWith("#/$defs/") ? ref.slice(8) : undefined;
}

/** Calls `visit` with the name of each definition that a schema refers to, as often as it does. */
export function walkRefs(value: unknown, visit: (name: string) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walkRefs(item, visit);
    return;
  }
  if (!isObject(value)) return;
  const name = nameOf(value["$ref"]);
  if (name !== undefined) visit(name);
  for (const key in value) {
    const item = value[key];
    if (typeof item !== "object" || item === null || DATA.has(key)) continue;
    if (!NAME_MAPS.has(key)) walkRefs(item, visit);
    else for (const each of Object.values(item)) walkRefs(each, visit);
  }
}

/** How often a schema refers to each definition. */
export function usesOf(schema: unknown): Map<string, number> {
  const uses = new Map<string, number>();
  walkRefs(schema, (name) => uses.set(name, (uses.get(name) ?? 0) + 1));
  return uses;
}

/**
 * A copy of a schema. Names of properties and plain data inside it are not taken for keywords.
 * @param replace what stands in place of an object, or undefined to go on into it
 */
export function mapSchema(value: unknown, replace: (object: JsonObject) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapSchema(item, replace));
  if (!isObject(value)) return value;
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== "object" || item === null || DATA.has(key)) out[key] = item;
    else if (!NAME_MAPS.has(key)) out[key] = mapSchema(item, replace);
    else out[key] = Object.fromEntries(Object.entries(item).map(([name, each]) => [name, mapSchema(each, replace)]));
  }
  return out;
}
