/**
 * `Mcp-Param-*` headers (MCP 2026-07-28, `x-mcp-header`): where a listed tool declares them, each must be there and
 * say what the body says. The SDK checks this for its high-level server only.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";

const PREFIX = "mcp-param-";
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
const INTEGER = /^-?\d+$/;

/** One sentence where a declared header is missing, malformed or differs from the argument; else undefined. */
export function paramHeaderProblem(
  caller: GatewayCaller,
  params: JsonObject,
  headers: IncomingHttpHeaders,
): string | undefined {
  const entry = typeof params["name"] === "string" ? caller.toolset.byName.get(params["name"]) : undefined;
  if (entry?.tool.state !== "approved") return undefined;
  const args = isObject(params["arguments"]) ? params["arguments"] : {};
  for (const { header, path } of declarations(entry.listed.inputSchema)) {
    const name = `Mcp-Param-${header}`;
    const sent = headers[PREFIX + header.toLowerCase()];
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args);
    if (value === undefined || value === null) {
      if (sent !== undefined) return `${name} was sent, but the argument ${path.join(".")} is missing`;
      continue;
    }
    if (typeof sent !== "string") return `${name} is missing; it must repeat the argument ${path.join(".")}`;
    const decoded = decode(sent.trim());
    if (decoded === undefined) return `${name} is not valid Base64`;
    if (!same(decoded, value)) return `${name} differs from the argument ${path.join(".")}`;
  }
  return undefined;
}

interface Declaration {
  readonly header: string;
  readonly path: readonly string[];
}

const MAX_DEPTH = 8;

function declarations(schema: JsonObject, path: readonly string[] = []): Declaration[] {
  if (path.length > MAX_DEPTH || !isObject(schema["properties"])) return [];
  return Object.entries(schema["properties"]).flatMap(([key, property]) => {
    if (!isObject(property)) return [];
    const header = property["x-mcp-header"];
    const here = typeof header === "string" ? [{ header, path: [...path, key] }] : [];
    return [...here, ...declarations(property, [...path, key])];
  });
}

function decode(value: string): string | undefined {
  // Only both markers make an encoded value; with one of them it is literal text.
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return undefined;
  return Buffer.from(encoded, "base64").toString("utf8");
}

/** Integers are compared as numbers, everything else as text. */
function same(sent: string, value: unknown): boolean {
  if (typeof value === "number") return INTEGER.test(sent) ? Number(sent) === value : sent === String(value);
  return sent === String(value);
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
