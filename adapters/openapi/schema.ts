/**
 * Schemas of a document -> JSON Schema 2020-12 that every validator and host takes.
 *
 * A reference becomes `#/$defs/<name>`; what it points at is converted once per document and put into each tool that
 * needs it (`definitions.ts`). Where a schema is wrong, the wrong part is left out: the result only ever accepts more.
 */
import type { JsonObject } from "../contract.ts";
import { arrayOf, isObject, objectOf, stringsOf } from "../http-request/json.ts";
import { usesOf } from "./definitions.ts";
import type { SpecVersion } from "./document.ts";
import { keywordsOf } from "./keywords.ts";
import type { References } from "./references.ts";
import { clipped, shortHash } from "./words.ts";

/** Which side of an operation a schema is for: `readOnly` is no part of an input, `writeOnly` none of an output. */
export type Side = "input" | "output";

/** A converted schema and the definitions that it names. */
export interface Converted {
  schema: JsonObject;
  refs: Set<string>;
}

/** A schema that others refer to by name. */
export interface Definition extends Converted {
  /** Of its JSON. */
  bytes: number;
  /** How often it refers to each other definition. */
  uses: ReadonlyMap<string, number>;
}

/** Characters of a description inside a schema. */
const MAX_DESCRIPTION = 160;
/** Nested schemas, references not counted. */
const MAX_DEPTH = 40;
/** Schemas converted for one document; YAML anchors can make a small file endless. */
const MAX_NODES = 3_000_000;
/** Schemas inside one other, references not counted. */
const MAX_NODES_EACH = 20_000;

interface Place {
  readonly refs: Set<string>;
  readonly depth: number;
  /** Part of an `allOf`: `additionalProperties: false` of one part would refuse the others' properties. */
  readonly open?: boolean;
  /** Names that `readOnly` or `writeOnly` takes out, found in a neighbouring part of an `allOf`. */
  readonly dropped?: ReadonlySet<string>;
}

export class Schemas {
  readonly #references: References;
  readonly #version: SpecVersion;
  readonly #side: Side;
  readonly #definitions = new Map<string, Definition>();
  readonly #names = new Map<string, string>();
  readonly #targets = new Map<string, { value: unknown; open: boolean }>();
  #nodes = 0;
  #left = 0;

  constructor(references: References, version: SpecVersion, side: Side) {
    this.#references = references;
    this.#version = version;
    this.#side = side;
  }

  /** Converts a schema that stands in the document itself. */
  convert(value: unknown): Converted {
    const refs = new Set<string>();
    this.#left = MAX_NODES_EACH;
    return { schema: this.#convert(value, { refs, depth: 0 }), refs };
  }

  /** The definition of a name that a converted schema refers to. */
  definition(name: string): Definition {
    const known = this.#definitions.get(name);
    if (known !== undefined) return known;
    const target = this.#targets.get(name);
    const refs = new Set<string>();
    this.#left = MAX_NODES_EACH;
    const schema = this.#convert(target?.value, { refs, depth: 0, open: target?.open ?? false });
    const made = { schema, refs, bytes: JSON.stringify(schema).length, uses: usesOf(schema) };
    this.#definitions.set(name, made);
    return made;
  }

  #convert(value: unknown, place: Place): JsonObject {
    if (value === true || value === undefined) return {};
    if (value === false) return { not: {} };
    if (!isObject(value)) return {};
    this.#nodes += 1;
    this.#left -= 1;
    if (place.depth > MAX_DEPTH || this.#nodes > MAX_NODES || this.#left < 0) {
      this.#references.warn("a schema is nested too deeply or repeated too often; its inner parts accept anything");
      return {};
    }
    if (typeof value["$ref"] === "string") return this.#reference(value, value["$ref"], place);
    return this.#plain(value, place);
  }

  #reference(value: JsonObject, ref: string, place: Place): JsonObject {
    const resolved = this.#references.resolve(value);
    const description = this.#description(value);
    if (resolved === undefined || resolved.pointer === undefined) return description;
    if (resolved.value === true || !(isObject(resolved.value) || resolved.value === false)) return description;
    const open = place.open === true && objectOf(resolved.value)["additionalProperties"] === false;
    const name = this.#nameOf(resolved.pointer, resolved.value, open);
    place.refs.add(name);
    let out: JsonObject = { $ref: `#/$defs/${name}` };
    if (this.#version === "3.1" || this.#version === "3.2") {
      const { $ref: _ref, nullable: _nullable, ...beside } = value;
      const converted = Object.keys(beside).length > 0 ? this.#plain(beside, { ...place, depth: place.depth + 1 }) : {};
      out = { ...out, ...converted };
    } else out = { ...out, ...description };
    if (!ref.startsWith("#") || !isNullable(value)) return out;
    return { anyOf: [out, { type: "null" }] };
  }

  /** Components keep their names; others, and those whose name cannot stay as it is, get a hash of their place. */
  #nameOf(pointer: string, value: unknown, open: boolean): string {
    const key = open ? `${pointer}?open` : pointer;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const last = (pointer.split("/").at(-1) ?? "").replaceAll("~1", "/").replaceAll("~0", "~");
    const clean = last.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 40) || "schema";
    const isComponent = /^\/(?:components\/schemas|definitions)\/[^/]+$/.test(pointer);
    const name = isComponent && clean === last && !open ? clean : `${clean}_${shortHash(key)}`;
    this.#names.set(key, name);
    this.#targets.set(name, { value, open });
    return name;
  }

  #plain(value: JsonObject, place: Place): JsonObject {
    const inner: Place = { refs: place.refs, depth: place.depth + 1 };
    const convert = (item: unknown) => this.#convert(item, inner);
    const allOf = arrayOf(value["allOf"]).filter((part) => isObject(part) || part === false);
    const composed = allOf.length > 0;
    const dropped = new Set([...(place.dropped ?? []), ...this.#droppedNames(value, 0)]);
    const open = composed || place.open === true;
    const out: JsonObject = {
      ...keywordsOf(value, this.#side),
      ...this.#properties(value, inner, dropped, open),
      ...this.#description(value),
    };
    for (const keyword of ["items", "contains"] as const) {
      if (value[keyword] === undefined) continue;
      if (Array.isArray(value[keyword])) out["prefixItems"] = value[keyword].map(convert);
      else out[keyword] = convert(value[keyword]);
    }
    if (Array.isArray(value["prefixItems"])) out["prefixItems"] = value["prefixItems"].map(convert);
    // Some hosts take no array without it.
    if (out["type"] === "array" && out["items"] === undefined && out["prefixItems"] === undefined) out["items"] = {};
    if (this.#side === "input" && isObject(value["not"])) out["not"] = convert(value["not"]);
    const unions: JsonObject[][] = [];
    for (const keyword of ["oneOf", "anyOf"]) {
      // Alternatives of real documents overlap; `oneOf` would refuse what the service accepts.
      const branches = arrayOf(value[keyword]).filter((part) => isObject(part) || typeof part === "boolean");
      if (branches.length > 0) unions.push(branches.map(convert));
    }
    const parts = allOf.map((part) => this.#convert(part, { ...inner, open: true, dropped }));
    const [first, ...others] = unions;
    if (first !== undefined) out["anyOf"] = first;
    for (const branches of others) parts.push({ anyOf: branches });
    return nullable(joined(out, parts), value, this.#side);
  }

  #properties(value: JsonObject, place: Place, dropped: ReadonlySet<string>, open: boolean): JsonObject {
    const out: JsonObject = {};
    if (isObject(value["properties"])) {
      const kept = Object.entries(value["properties"]).filter(([key]) => !dropped.has(key));
      out["properties"] = Object.fromEntries(kept.map(([key, item]) => [key, this.#convert(item, place)]));
    }
    if (this.#side === "input") {
      const required = [...new Set(stringsOf(value["required"]))].filter((key) => !dropped.has(key));
      if (required.length > 0) out["required"] = required;
    }
    const { additionalProperties } = value;
    if (isObject(additionalProperties)) out["additionalProperties"] = this.#convert(additionalProperties, place);
    else if (additionalProperties === false && !open && this.#side === "input") out["additionalProperties"] = false;
    return out;
  }

  /** Properties that do not belong to this side, in this schema and in the parts it is composed of. */
  #droppedNames(value: JsonObject, depth: number): string[] {
    const flag = this.#side === "input" ? "readOnly" : "writeOnly";
    const names = Object.entries(objectOf(value["properties"])).flatMap(([key, item]) => {
      if (!isObject(item)) return [];
      if (item[flag] === true) return [key];
      return typeof item["$ref"] === "string" && this.#references.object(item)?.[flag] === true ? [key] : [];
    });
    if (depth > 4) return names;
    const parts = arrayOf(value["allOf"]).flatMap((part) => {
      const object = this.#references.object(part);
      return object === undefined ? [] : this.#droppedNames(object, depth + 1);
    });
    return [...names, ...parts];
  }

  #description(value: JsonObject): { description?: string } {
    if (this.#side === "output" || typeof value["description"] !== "string") return {};
    const description = clipped(value["description"], MAX_DESCRIPTION);
    return description === "" ? {} : { description };
  }
}

function isNullable(value: JsonObject): boolean {
  return value["nullable"] === true || value["x-nullable"] === true;
}

/** A single part whose keywords are all its own becomes part of the schema itself. */
function joined(out: JsonObject, parts: JsonObject[]): JsonObject {
  const used = parts.filter((part) => Object.keys(part).length > 0);
  const [only] = used;
  if (only === undefined) return out;
  const bare = Object.keys(out).filter((key) => !(key === "type" && out["type"] === only["type"]));
  const apart = used.length === 1 && bare.every((key) => key === "description" || !Object.hasOwn(only, key));
  if (apart) return { ...only, ...out };
  return { ...out, allOf: used };
}

/** `nullable` of 3.0: null is one more value, whatever else the schema says. */
function nullable(out: JsonObject, value: JsonObject, side: Side): JsonObject {
  if (!isNullable(value) && side === "input") return out;
  const composed = ["$ref", "allOf", "anyOf", "not"].some((keyword) => Object.hasOwn(out, keyword));
  if (side === "output") {
    // What a service answers may be null anywhere; branches and definitions are loosened by themselves.
    return typeof out["type"] === "string" && out["type"] !== "null" && !composed
      ? { ...out, type: [out["type"], "null"] }
      : out;
  }
  if (composed || Object.hasOwn(out, "const")) {
    const { description, ...rest } = out;
    return { anyOf: [rest, { type: "null" }], ...(description === undefined ? {} : { description }) };
  }
  const { type } = out;
  const types = typeof type === "string" ? [type] : stringsOf(type);
  const out2 = { ...out };
  if (types.length > 0 && !types.includes("null")) out2["type"] = [...types, "null"];
  if (Array.isArray(out["enum"]) && !out["enum"].includes(null)) out2["enum"] = [...out["enum"], null];
  return out2;
}
