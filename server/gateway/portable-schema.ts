/**
 * The input schema as hosts accept it.
 *
 * Model APIs take property keys of `^[a-zA-Z0-9_.-]{1,64}$` only and no union at the top of a schema; Claude Code
 * drops a tool that breaks the first rule without telling anyone. So keys are renamed (and renamed back on the call)
 * and a top-level `anyOf`, `oneOf`, `allOf` or `$ref` is merged into one object. The result only ever accepts more
 * than the original: the upstream's own schema stays what arguments are checked against.
 *
 * Local references into `$defs` and `definitions` are kept; every host measured takes them.
 */
import type { JsonObject } from "../../adapters/contract.ts";
import { mergeUnions } from "./merge-unions.ts";
import { shortHash } from "./names.ts";

const KEY_PATTERN = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_KEY = 64;

/** Keywords that name properties in ways that renaming does not follow; dropping them only accepts more. */
const NAMES_PROPERTIES = [
  "dependentRequired",
  "dependentSchemas",
  "dependencies",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
  "minProperties",
  "maxProperties",
  "not",
  "if",
  "then",
  "else",
  "default",
  "examples",
];

/** Listed key -> the upstream's own key, for renamed keys only. */
export type PropertyMap = ReadonlyMap<string, string>;

interface Portable {
  schema: JsonObject;
  restore: PropertyMap;
}

const made = new WeakMap<JsonObject, Portable>();

/**
 * Remembered for each schema, as long as that is there: every endpoint that shows a tool needs the same.
 * @param inputSchema a tool's input schema as its upstream wrote it; not changed, by nobody
 * @returns the schema to list, always `type: "object"` with `properties`, and the way back for the arguments
 */
export function portableSchema(inputSchema: JsonObject): Portable {
  let known = made.get(inputSchema);
  if (known === undefined) {
    known = makePortable(inputSchema);
    made.set(inputSchema, known);
  }
  return known;
}

function makePortable(inputSchema: JsonObject): Portable {
  const merged = mergeUnions(inputSchema);
  const properties = objectOf(merged["properties"]);
  const required = stringsOf(merged["required"]).filter((key, index, all) => all.indexOf(key) === index);
  // A required key that is not declared is declared: some hosts refuse the schema otherwise.
  const keys = [...new Set([...Object.keys(properties), ...required])];
  const listedKeys = portableKeys(keys);
  const restore = new Map<string, string>();
  for (const [key, listed] of listedKeys) {
    if (listed !== key) restore.set(listed, key);
  }
  const schema: JsonObject = { ...merged, type: "object" };
  if (restore.size > 0) for (const keyword of NAMES_PROPERTIES) delete schema[keyword];
  schema["properties"] = Object.fromEntries(
    keys.map((key) => {
      const value = Object.hasOwn(properties, key) ? properties[key] : {};
      return [listedKeys.get(key) ?? key, value === true ? {} : value];
    }),
  );
  if (required.length > 0) schema["required"] = required.map((key) => listedKeys.get(key) ?? key);
  else delete schema["required"];
  const changed = merged !== inputSchema || restore.size > 0;
  return { schema: changed ? keepReferences(schema, inputSchema) : schema, restore };
}

/**
 * Arguments as the upstream names them. A key that the caller already wrote in the upstream's own form passes as it
 * is; where both forms are given the listed one counts.
 */
export function restoreArguments(args: JsonObject, restore: PropertyMap): JsonObject {
  if (restore.size === 0) return args;
  const renamed = new Set<string>();
  for (const key of Object.keys(args)) {
    const original = restore.get(key);
    if (original !== undefined) renamed.add(original);
  }
  if (renamed.size === 0) return args;
  return Object.fromEntries(
    Object.entries(args)
      .filter(([key]) => restore.has(key) || !renamed.has(key))
      .map(([key, value]) => [restore.get(key) ?? key, value]),
  );
}

/** Key -> legal key, unique; legal keys keep their own. */
function portableKeys(keys: readonly string[]): Map<string, string> {
  const result = new Map<string, string>();
  const taken = new Set<string>();
  for (const key of keys) {
    if (!KEY_PATTERN.test(key)) continue;
    result.set(key, key);
    taken.add(key);
  }
  for (const key of keys) {
    if (result.has(key)) continue;
    const cleaned = key.replace(/[^a-zA-Z0-9_.-]+/g, "_").replace(/^_+|_+$/g, "");
    let listed = cleaned;
    for (let attempt = 0; listed === "" || listed.length > MAX_KEY || taken.has(listed); attempt += 1) {
      listed = `${cleaned.slice(0, MAX_KEY - 7) || "arg"}_${shortHash(key, attempt)}`;
    }
    result.set(key, listed);
    taken.add(listed);
  }
  return result;
}

/**
 * Merging and renaming move what references such as `#`, `#/properties/x` or `#/anyOf/0` point at. Those are turned
 * towards an untouched copy of the original under `$defs`, added only where one is needed.
 */
function keepReferences(schema: JsonObject, original: JsonObject): JsonObject {
  const copyName = "original_schema";
  let used = false;
  const turn = (value: unknown, inNames: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => turn(item, false));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        if (!inNames && key === "$ref" && typeof item === "string" && movesWithTheRoot(item)) {
          used = true;
          return [key, `#/$defs/${copyName}${item.slice(1)}`];
        }
        if (!inNames && (key === "const" || key === "enum" || key === "default" || key === "examples")) {
          return [key, item];
        }
        return [key, turn(item, !inNames && (key === "properties" || key === "$defs" || key === "definitions"))];
      }),
    );
  };
  const turned = objectOf(turn(schema, false));
  if (!used) return turned;
  const { $schema: _dialect, $id: _id, $defs: _defs, definitions: _definitions, ...rest } = original;
  return { ...turned, $defs: { ...objectOf(turned["$defs"]), [copyName]: turn(rest, false) } };
}

function movesWithTheRoot(reference: string): boolean {
  if (reference === "#") return true;
  return reference.startsWith("#/") && !reference.startsWith("#/$defs/") && !reference.startsWith("#/definitions/");
}

function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}
