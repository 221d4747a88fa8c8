/**
 * Handles of kept files in arguments whose schema says that they are bytes in base64. This is how arguments are
 * written down for the service, after everything was decided about them: the decision saw the handle.
 */
import { type Assets, isAssetHandle, type JsonObject } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";

/** Bytes of all files that one call carries inside its arguments. */
const MAX_INLINE = 8 * 1024 * 1024;
const DEEPEST = 32;
const MARKS: ReadonlySet<unknown> = new Set(["byte", "binary", "base64"]);

/**
 * @returns the arguments with contents in place of such handles; the same object where there are none
 * @throws JackfieldError `asset_too_large`, and whatever `assets.read` rejects with
 */
export async function inlineFiles(
  args: JsonObject,
  schema: JsonObject,
  assets: Pick<Assets, "read">,
): Promise<JsonObject> {
  if (!holdsHandle(args, 0)) return args;
  let bytes = 0;
  const contentOf = async (handle: string): Promise<string> => {
    const file = await assets.read(handle);
    bytes += file.size;
    if (bytes > MAX_INLINE) {
      const text = `This tool takes files inside its arguments, at most ${MAX_INLINE} bytes in all; ${file.name} has ${file.size}.`;
      throw new JackfieldError("asset_too_large", { text });
    }
    return Buffer.from(await new Response(file.stream()).arrayBuffer()).toString("base64");
  };
  const walk = async (value: unknown, schemas: readonly JsonObject[], depth: number): Promise<unknown> => {
    if (depth > DEEPEST) return value;
    const all = schemas.flatMap((each) => alternatives(each, schema, 0));
    if (typeof value === "string") {
      return isAssetHandle(value) && all.some(isBytes) ? contentOf(value) : value;
    }
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const [index, item] of value.entries()) items.push(await walk(item, itemsOf(all, index), depth + 1));
      return items;
    }
    if (!isObject(value)) return value;
    const entries: [string, unknown][] = [];
    for (const [key, item] of Object.entries(value))
      entries.push([key, await walk(item, propertyOf(all, key), depth + 1)]);
    return Object.fromEntries(entries);
  };
  const inlined = await walk(args, [schema], 0);
  return isObject(inlined) ? inlined : args;
}

function holdsHandle(value: unknown, depth: number): boolean {
  if (typeof value === "string") return isAssetHandle(value);
  if (typeof value !== "object" || value === null || depth > DEEPEST) return false;
  return Object.values(value).some((item) => holdsHandle(item, depth + 1));
}

function isBytes(schema: JsonObject): boolean {
  return MARKS.has(schema["format"]) || schema["contentEncoding"] === "base64";
}

/** A schema with everything that it refers to or is composed of. */
function alternatives(schema: JsonObject, root: JsonObject, depth: number): JsonObject[] {
  if (depth > 8) return [schema];
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => {
    const list = schema[keyword];
    return Array.isArray(list) ? list.filter(isObject) : [];
  });
  const target = referred(schema["$ref"], root);
  return [
    schema,
    ...(target ? [...parts, target] : parts).flatMap((part) => alternatives(part, root, depth + 1)),
  ].slice(0, 200);
}

/** RFC 6901, inside the schema itself. */
function referred(ref: unknown, root: JsonObject): JsonObject | undefined {
  if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const token of ref.slice(2).split("/")) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return isObject(found) ? found : undefined;
}

function propertyOf(schemas: readonly JsonObject[], key: string): JsonObject[] {
  return schemas.flatMap((schema) => {
    const { properties, additionalProperties } = schema;
    if (isObject(properties) && Object.hasOwn(properties, key)) return [properties[key]].filter(isObject);
    return [additionalProperties].filter(isObject);
  });
}

function itemsOf(schemas: readonly JsonObject[], index: number): JsonObject[] {
  return schemas.flatMap(({ items, prefixItems }) => {
    const own: unknown = Array.isArray(prefixItems) ? prefixItems[index] : undefined;
    return [own ?? items].filter(isObject);
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
