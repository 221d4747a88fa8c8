/** A word about further pages. Nothing is followed by itself: whether more is wanted is the caller's decision. */
import { isObject } from "./json.ts";

/** Fields of an answer that name the next page, as they are spelled without case and separators. */
const NEXT_FIELDS = new Set([
  "next",
  "nextpage",
  "nextpagetoken",
  "nextcursor",
  "nexttoken",
  "nextlink",
  "nexturl",
  "nextpageurl",
  "nexturi",
  "nextpageuri",
  "nextoffset",
  "continuationtoken",
  "odatanextlink",
  "endcursor",
  "cursor",
  "hasmore",
  "hasnextpage",
  "nextmarker",
]);
const CONTAINERS = [
  "meta",
  "paging",
  "pagination",
  "links",
  "_links",
  "page",
  "pageInfo",
  "page_info",
  "response_metadata",
  "cursors",
  "metadata",
];
const MAX_VALUE = 500;
const MAX_LINK = 4096;

/** @returns no line, or one that quotes the `Link` header (RFC 8288) and the fields that name a next page */
export function pageHint(headers: Headers, json: unknown): string[] {
  const hints: string[] = [];
  const link = headers.get("link")?.slice(0, MAX_LINK) ?? null;
  const next = link === null ? undefined : /<([^>]*)>\s*;[^,]*\brel\s*=\s*"?[^",;]*\bnext\b/i.exec(link)?.[1];
  if (next !== undefined) hints.push(`Link rel=next: ${quoted(next)}`);
  if (isObject(json)) {
    hints.push(...fieldsOf(json, ""));
    for (const key of CONTAINERS) if (isObject(json[key])) hints.push(...fieldsOf(json[key], `${key}.`));
  }
  return hints.length === 0 ? [] : [`There may be more pages. ${[...new Set(hints)].slice(0, 6).join("; ")}`];
}

function fieldsOf(object: Record<string, unknown>, prefix: string): string[] {
  return Object.entries(object).flatMap(([key, value]) => {
    if (!NEXT_FIELDS.has(key.toLowerCase().replace(/[^a-z]/g, ""))) return [];
    const told = isObject(value) && typeof value["href"] === "string" ? value["href"] : value;
    if (told === null || told === "" || told === false || typeof told === "object") return [];
    return [`${prefix}${key}: ${quoted(String(told))}`];
  });
}

function quoted(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, " ").slice(0, MAX_VALUE);
}
