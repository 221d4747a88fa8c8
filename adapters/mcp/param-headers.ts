/**
 * `x-mcp-header`: parameters of a tool that go along as `Mcp-Param-*` headers (MCP 2026-07-28, "Streamable HTTP",
 * Schema Extension). The SDK does this only inside `callTool`, which also parses results against its own schemas and
 * rejects those that break an output schema; a proxy hands results over verbatim.
 */
import type { JsonObject } from "../contract.ts";

export interface ParamHeader {
  readonly path: readonly string[];
  readonly name: string;
}

/** RFC 9110, 5.6.2 `token`. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES = new Set(["string", "integer", "boolean"]);
/** Where a schema may hold further schemas besides `properties`: an annotation there makes the tool invalid. */
const UNREACHABLE = [
  ["items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames"],
  ["not", "if", "then", "else", "prefixItems", "oneOf", "anyOf", "allOf"],
].flat();
const UNREACHABLE_MAPS = ["patternProperties", "dependentSchemas", "$defs", "definitions"];
const MAX_DEPTH = 64;

/** Finds the declarations of an input schema, or says why the tool must be left out of the list. */
export function paramHeadersOf(inputSchema: unknown): { headers: ParamHeader[] } | { invalid: string } {
  const headers: ParamHeader[] = [];
  const names = new Set<string>();
  const visit = (schema: unknown, path: readonly string[], reachable: boolean): string | undefined => {
    if (!isObject(schema) || path.length > MAX_DEPTH) return undefined;
    if ("x-mcp-header" in schema) {
      const name = schema["x-mcp-header"];
      const where = path.join(".") || "the schema itself";
      if (!reachable || path.length === 0) return `x-mcp-header at ${where} is not reachable through properties alone`;
      if (typeof name !== "string" || !TOKEN.test(name)) return `x-mcp-header at ${where} is not a header name`;
      if (typeof schema["type"] !== "string" || !TYPES.has(schema["type"]))
        return `x-mcp-header at ${where} is on a property that is not a string, integer or boolean`;
      if (names.has(name.toLowerCase())) return `x-mcp-header ${name} is declared twice`;
      names.add(name.toLowerCase());
      headers.push({ path, name });
    }
    for (const [key, child] of entriesOf(schema["properties"])) {
      const fault = visit(child, [...path, key], reachable);
      if (fault) return fault;
    }
    const hidden = [
      ...UNREACHABLE.flatMap((key) => schema[key] ?? []),
      ...UNREACHABLE_MAPS.flatMap((key) => entriesOf(schema[key]).map((entry) => entry[1])),
    ];
    for (const child of hidden) {
      const fault = visit(child, [...path, "*"], false);
      if (fault) return fault;
    }
    return undefined;
  };
  const invalid = visit(inputSchema, [], true);
  return invalid === undefined ? { headers } : { invalid };
}

/** The headers of one call. Absent, null and non-primitive values have none. */
export function paramHeaders(headers: readonly ParamHeader[], args: JsonObject): Record<string, string> {
  const result: Record<string, string> = {};
  for (const { path, name } of headers) {
    let value: unknown = args;
    for (const key of path) value = isObject(value) ? value[key] : undefined;
    const text = textOf(value);
    if (text !== undefined) result[`Mcp-Param-${name}`] = encode(text);
  }
  return result;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

/** Plain where a header can carry it, else the spec's Base64 form, which also covers values that look like it. */
function encode(text: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

function entriesOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
