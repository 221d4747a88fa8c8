/** What becomes of an upstream's answer before it reaches the caller (design section 4, step 9). */
import { isAssetHandle, type JsonObject, UpstreamError, UpstreamRpcError } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import { ERRORS, type ErrorCode, JackfieldError } from "../errors.ts";
import type { Schemas } from "./arguments.ts";
import type { AuthorizationNeed } from "./authorization.ts";
import { isKept, KEPT_STRUCTURE } from "./keep-large.ts";
import type { ToolEntry } from "./toolset.ts";
import { publicUri } from "./uris.ts";

/** Bytes of one result as JSON; more is not passed on. */
export const MAX_RESULT_BYTES = 16 * 1024 * 1024;

const WARNINGS = "jackfield/warnings";
const ERROR = "jackfield/error";

/** A result that tells a failure in words a model can act on; the code is in `_meta["jackfield/error"]`. */
export function failure(code: ErrorCode, text: string, more: JsonObject = {}): JsonObject {
  return {
    content: [{ type: "text", text }],
    isError: true,
    _meta: { [ERROR]: { code, ...more } },
  };
}

/** The connection needs a sign-in first: recoverable, and structured so that a client can offer the page. */
export function authorizationRequired(connection: { slug: string }, need: AuthorizationNeed): JsonObject {
  const where = { connection: connection.slug, ...(need.url ? { url: need.url } : {}) };
  return {
    ...failure("authorization_required", need.text, where),
    structuredContent: { status: "authorization_required", ...where },
  };
}

/** What `authorizationRequired` said, where a result is one and there is a page to open. */
export function signInPageOf(result: JsonObject): { connection: string; url: string } | undefined {
  const { structuredContent } = result;
  if (result["isError"] !== true || !isObject(structuredContent)) return undefined;
  const { status, connection, url } = structuredContent;
  if (status !== "authorization_required" || typeof connection !== "string" || typeof url !== "string")
    return undefined;
  return { connection, url };
}

/** Any error of a call as the caller reads it; protocol errors are thrown on, never returned. */
export function failureOf(
  error: unknown,
  connection: { slug: string; label: string },
): { code: ErrorCode; result: JsonObject } {
  if (error instanceof JackfieldError) return { code: error.code, result: failure(error.code, error.message) };
  if (error instanceof UpstreamError) {
    const text = `${connection.label} (${connection.slug}): ${error.message}`;
    return { code: error.code, result: failure(error.code, text, { connection: connection.slug }) };
  }
  if (error instanceof UpstreamRpcError) {
    const text = `${connection.label} (${connection.slug}) refused the call: ${error.message}`;
    return {
      code: "upstream_status",
      result: failure("upstream_status", text, { connection: connection.slug, rpc: error.rpcCode }),
    };
  }
  return { code: "internal", result: failure("internal", ERRORS.internal.text) };
}

/**
 * Bounds a result, drops what belongs to the upstream's hop, and says in `_meta` where it breaks the tool's own
 * output schema (it is delivered all the same: a client that throws it away helps nobody).
 */
export function deliver(result: JsonObject, entry: ToolEntry, transparent: boolean, schemas: Schemas): JsonObject {
  const { resultType: _hop, ...rest } = result;
  const size = Buffer.byteLength(JSON.stringify(rest));
  if (size > MAX_RESULT_BYTES) {
    return failure(
      "result_too_large",
      `${ERRORS.result_too_large.text} It has ${size} bytes, the limit is ${MAX_RESULT_BYTES}. Ask for less, for example with a filter or a page.`,
      { bytes: size },
    );
  }
  const meta = keptMeta(rest["_meta"], transparent);
  const warnings: string[] = [];
  const { outputSchema } = entry.tool.definition;
  if (outputSchema && rest["isError"] !== true && !transparent && !isKept(rest)) {
    const problem =
      rest["structuredContent"] === undefined
        ? "there is no structuredContent"
        : schemas.problem(`${entry.tool.hash}:output`, outputSchema, rest["structuredContent"]);
    if (problem) warnings.push(`The result does not fit the tool's output schema: ${problem}`);
  }
  if (isKept(rest)) warnings.push(KEPT_STRUCTURE);
  if (warnings.length > 0) meta[WARNINGS] = warnings;
  const { _meta, ...plain } = rest;
  if (!transparent && Array.isArray(plain["content"]))
    plain["content"] = plain["content"].map((block) => publicBlock(block, entry));
  return Object.keys(meta).length > 0 ? { ...plain, _meta: meta } : plain;
}

/** Links and embedded resources carry the address under which this caller can read them, where it can. */
function publicBlock(block: unknown, { connection }: ToolEntry): unknown {
  if (!isObject(block)) return block;
  if (block["type"] === "resource_link" && !isAssetHandle(block["uri"]) && readable(connection, block["uri"])) {
    return { ...block, uri: publicUri(connection.slug, String(block["uri"])) };
  }
  const { resource } = block;
  if (block["type"] !== "resource" || !isObject(resource) || !readable(connection, resource["uri"])) return block;
  return { ...block, resource: { ...resource, uri: publicUri(connection.slug, String(resource["uri"])) } };
}

const readable = (connection: ServedConnection, uri: unknown) =>
  typeof uri === "string" && connection.admits.resource(uri);
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Keys of the protocol itself describe the upstream's hop, not ours. */
function keptMeta(meta: unknown, transparent: boolean): JsonObject {
  if (typeof meta !== "object" || meta === null) return {};
  return Object.fromEntries(
    Object.entries(meta).filter(([key]) => {
      if (key === "io.modelcontextprotocol/serverInfo") return false;
      return transparent || !key.startsWith("io.modelcontextprotocol/");
    }),
  );
}

/** MCP 2025-11-25 and older: `structuredContent` is an object or absent; the text block keeps the value. */
export function forLegacy(result: JsonObject): JsonObject {
  const structured = result["structuredContent"];
  if (
    structured === undefined ||
    (typeof structured === "object" && structured !== null && !Array.isArray(structured))
  ) {
    return result;
  }
  const { structuredContent: _dropped, ...rest } = result;
  const content = Array.isArray(rest["content"]) ? rest["content"] : [];
  if (content.length > 0) return rest;
  return { ...rest, content: [{ type: "text", text: JSON.stringify(structured) }] };
}
