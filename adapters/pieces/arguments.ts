/**
 * What a model sends -> what the piece's code gets: what the framework's own processors do before an action runs.
 *
 * Everything is told from the schema that `schema.ts` wrote, so that it happens before guards and approval see the
 * arguments. Pure.
 */
import type { JsonObject } from "../contract.ts";
import { isObject, objectOf, own } from "../http-request/json.ts";
import { nearestName } from "../nearest-name.ts";
import { FILE_KEYS } from "./schema.ts";

const DEEPEST = 16;

/**
 * Arguments as the schema wants them where they can be read so: text for numbers, yes or no, dates and JSON, numbers
 * for text, a URL for a file. Null is absent. What cannot be read stays as it is, for the schema to refuse.
 */
export function coerced(schema: JsonObject, args: JsonObject): JsonObject {
  return properties(schema, args, 0);
}

/** The arguments with the defaults of the schema, as deep as objects in lists. */
export function withDefaults(schema: JsonObject, args: JsonObject): JsonObject {
  const filled: JsonObject = {};
  for (const [name, inner] of Object.entries(objectOf(schema["properties"]))) {
    const given = own(args, name);
    const value = given === undefined ? structuredClone(own(inner, "default")) : given;
    if (value !== undefined) filled[name] = itemsWithDefaults(objectOf(inner), value);
  }
  return { ...args, ...filled };
}

function itemsWithDefaults(schema: JsonObject, value: unknown): unknown {
  const items = objectOf(schema["items"]);
  if (!Array.isArray(value) || !isObject(items["properties"])) return value;
  return value.map((item) => (isObject(item) ? withDefaults(items, item) : item));
}

/** The first name that the schema does not know, and the nearest that it does. */
export function unknownKey(schema: JsonObject, args: JsonObject): { name: string; nearest?: string } | undefined {
  const known = Object.keys(objectOf(schema["properties"]));
  const name = Object.keys(args).find((key) => !known.includes(key));
  if (name === undefined) return undefined;
  const nearest = nearestName(name, known);
  return nearest === undefined ? { name } : { name, nearest };
}

function properties(schema: JsonObject, args: JsonObject, depth: number): JsonObject {
  const known = objectOf(schema["properties"]);
  const entries = Object.entries(args).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    const inner = own(known, name);
    return [[name, isObject(inner) ? valueFor(inner, value, depth + 1) : value] as const];
  });
  return Object.fromEntries(entries);
}

function valueFor(schema: JsonObject, value: unknown, depth: number): unknown {
  if (depth > DEEPEST) return value;
  const { type } = schema;
  if (Array.isArray(type)) return parsed(value, (read) => typeof read === "object" && read !== null);
  switch (type) {
    case "string":
      return schema["format"] === "date-time" ? dateOf(value) : asText(value);
    case "number":
      return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
    case "boolean":
      return asBoolean(value);
    case "array":
      return listOf(schema, value, depth);
    case "object":
      if (isFile(schema)) return fileOf(value);
      return parsed(value, isObject);
    default:
      return choiceOf(schema, value);
  }
}

function listOf(schema: JsonObject, given: unknown, depth: number): unknown {
  const value = parsed(given, Array.isArray);
  // One value where a list is meant; text that is no list stays for the schema to refuse.
  const list: unknown = isObject(value) ? [value] : value;
  if (!Array.isArray(list)) return list;
  const items = objectOf(schema["items"]);
  if (!isObject(items["properties"])) return list;
  return list.map((item) => {
    const read = parsed(item, isObject);
    return isObject(read) ? properties(items, read, depth + 1) : read;
  });
}

/** A fixed choice may come as text; an option that is looked up may be an object. */
function choiceOf(schema: JsonObject, value: unknown): unknown {
  const choices = schema["enum"];
  if (Array.isArray(choices)) {
    return choices.includes(value) ? value : (choices.find((choice) => String(choice) === String(value)) ?? value);
  }
  return typeof value === "string" && /^\s*[{[]/.test(value) ? parsed(value, () => true) : value;
}

function isFile(schema: JsonObject): boolean {
  const names = Object.keys(objectOf(schema["properties"]));
  return names.length === FILE_KEYS.length && FILE_KEYS.every((key) => names.includes(key));
}

/** A file as text is a URL, a data URL or the handle of an asset. */
function fileOf(value: unknown): unknown {
  if (typeof value !== "string") return parsed(value, isObject);
  const data = /^data:[^,]*;base64,([A-Za-z0-9+/=_-]*)$/.exec(value)?.[1];
  if (data !== undefined) return { base64: data };
  if (/^https?:\/\//i.test(value)) return { url: value };
  const read = parsed(value, isObject);
  return isObject(read) ? read : { asset: value };
}

function asText(value: unknown): unknown {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "object" ? JSON.stringify(value) : value;
}

function asBoolean(value: unknown): unknown {
  if (value === "true" || value === 1 || value === "1") return true;
  return value === "false" || value === 0 || value === "0" ? false : value;
}

/** RFC 3339 in UTC; a date without a zone counts as UTC. */
function dateOf(value: unknown): unknown {
  if (typeof value === "number") return readable(new Date(value)) ?? value;
  if (typeof value !== "string") return value;
  const local = /^\s*(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?\s*$/.exec(value);
  if (local) return readable(new Date(`${local[1]}T${local[2] ?? "00:00"}Z`)) ?? value;
  return readable(new Date(value)) ?? value;
}

function readable(date: Date): string | undefined {
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function parsed(value: unknown, fits: (read: unknown) => boolean): unknown {
  if (typeof value !== "string") return value;
  try {
    const read: unknown = JSON.parse(value);
    return fits(read) ? read : value;
  } catch {
    // Text that is no JSON is left for the schema to refuse, or is meant as text.
    return value;
  }
}
