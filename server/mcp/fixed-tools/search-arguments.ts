/** Reads the arguments of `tool_search`; what is wrong is said in one sentence that a model can act on. */
import { createHash } from "node:crypto";
import type { JsonObject } from "../../../adapters/contract.ts";

export const MAX_QUERY = 500;
export const MAX_QUERIES = 8;
export const MAX_LIMIT = 20;
export const MAX_SELECT = 20;
const MAX_CONNECTIONS = 50;

export interface SearchArguments {
  /** Sub-queries, trimmed, none empty. */
  readonly queries: readonly string[];
  /** Names of a `select:`, in order. */
  readonly select: readonly string[] | undefined;
  readonly connections: readonly string[];
  readonly access: "read" | "write" | undefined;
  readonly limit: number | undefined;
  readonly detail: "names" | "signatures" | "full" | undefined;
  readonly activate: boolean;
  readonly cursor: string | undefined;
}

/** Reads the arguments, or returns what is wrong with them. Unknown keys are ignored. */
export function readArguments(input: unknown): SearchArguments | { problem: string } {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return { problem: "Arguments are an object." };
  const args: JsonObject = { ...input };
  const given = [args["query"] ?? [], args["queries"] ?? []].flat();
  if (!given.every((query) => typeof query === "string")) return { problem: "query and queries hold text." };
  const queries = given.map((query) => query.trim()).filter((query) => query !== "");
  if (queries.length > MAX_QUERIES) return { problem: `Send at most ${MAX_QUERIES} queries in one call.` };
  const select = queries.length === 1 ? readSelect(queries[0]!) : undefined;
  if (select === undefined && queries.some((query) => query.length > MAX_QUERY)) {
    return { problem: `A query is at most ${MAX_QUERY} characters; send one short sub-query per step in queries.` };
  }
  if (select !== undefined && select.length > MAX_SELECT) {
    return { problem: `Select at most ${MAX_SELECT} tools in one call.` };
  }
  if (queries.length > 1 && queries.some((query) => readSelect(query) !== undefined)) {
    return { problem: "Send select: alone, as query, with the names separated by commas." };
  }
  const connections = [args["connection"] ?? []].flat();
  if (!connections.every((id) => typeof id === "string") || connections.length > MAX_CONNECTIONS) {
    return { problem: `connection is a connection id or a list of at most ${MAX_CONNECTIONS}.` };
  }
  const { access, limit, detail, activate, cursor } = args;
  if (!isOneOf(access, ["read", "write", undefined])) return { problem: 'access is "read" or "write".' };
  if (!isOneOf(detail, ["names", "signatures", "full", undefined])) {
    return { problem: 'detail is "names", "signatures" or "full".' };
  }
  if (limit !== undefined && !(Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= MAX_LIMIT)) {
    return { problem: `limit is a whole number from 1 to ${MAX_LIMIT}.` };
  }
  if (activate !== undefined && typeof activate !== "boolean") return { problem: "activate is true or false." };
  if (cursor !== undefined && typeof cursor !== "string") return { problem: "cursor is the nextCursor of an answer." };
  return {
    queries: select === undefined ? queries : [],
    select,
    connections: connections.map((id) => id.trim()).filter((id) => id !== ""),
    access,
    limit: limit === undefined ? undefined : Number(limit),
    detail,
    activate: activate ?? true,
    cursor,
  };
}

function readSelect(query: string): string[] | undefined {
  const match = /^select\s*:(.*)$/is.exec(query);
  if (match === null) return undefined;
  const names = match[1]!.split(/[,\n]/).map((name) => name.trim().slice(0, 200));
  return [...new Set(names.filter((name) => name !== ""))];
}

function isOneOf<T extends string | undefined>(value: unknown, options: readonly T[]): value is T {
  return options.some((option) => option === value);
}

/** The cursor of a search: where it goes on, and what search over which catalogue it belongs to. */
export function writeCursor(offset: number, args: SearchArguments, revision: string): string {
  return `${offset}.${searchDigest(args, revision)}`;
}

/** The offset of a cursor, or undefined where it belongs to another search or an older catalogue. */
export function readCursor(cursor: string, args: SearchArguments, revision: string): number | undefined {
  const match = /^(\d{1,5})\.([\w-]{8})$/.exec(cursor);
  return match !== null && match[2] === searchDigest(args, revision) ? Number(match[1]) : undefined;
}

function searchDigest({ queries, connections, access }: SearchArguments, revision: string): string {
  const text = JSON.stringify([queries, connections, access ?? null, revision]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 8);
}
