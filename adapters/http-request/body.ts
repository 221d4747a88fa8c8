/** Bodies of requests: JSON, forms, multipart, text and bytes. */
import { isAssetHandle } from "../contract.ts";
import { isObject } from "./json.ts";
import type { BodyPlan, FieldPlan } from "./plan.ts";
import { encode, queryParts, RequestRefused, textOfValue } from "./styles.ts";

export interface Part {
  name: string;
  filename?: string;
  contentType?: string;
  text?: string;
  base64?: string;
  /** Handle of a kept file, whose content, and name and type where none are given, go here. */
  asset?: string;
}

/** A body before it becomes bytes. */
export type Body =
  | { kind: "none" }
  | { kind: "json"; value: unknown }
  | { kind: "form"; pairs: [string, string][] }
  | { kind: "multipart"; parts: Part[] }
  | { kind: "text"; value: string }
  | { kind: "binary"; base64: string; contentType?: string }
  | { kind: "asset"; handle: string; contentType?: string };

/** Decoded bytes of all files of one request. */
const MAX_FILE_BYTES = 20 * 1024 * 1024;

/** @throws RequestRefused where the value cannot be such a body */
export function bodyOf(plan: BodyPlan, value: unknown): Body {
  switch (plan.kind) {
    case "json":
      return { kind: "json", value };
    case "form":
      return { kind: "form", pairs: formPairs(plan, value) };
    case "multipart":
      return { kind: "multipart", parts: limited(multipartParts(plan, value), plan.arg) };
    case "text":
      return { kind: "text", value: textOfValue(value) };
    case "binary": {
      const { base64 = "", asset, contentType } = fileOf(value, plan.arg);
      limited([{ name: plan.arg, base64 }], plan.arg);
      const typed = contentType === undefined ? {} : { contentType };
      return asset === undefined ? { kind: "binary", base64, ...typed } : { kind: "asset", handle: asset, ...typed };
    }
  }
}

function formPairs(plan: BodyPlan, value: unknown): [string, string][] {
  return fieldsOf(plan, value).flatMap(([name, item]): [string, string][] => {
    const field = plan.fields?.[name] ?? {};
    if (field.contentType !== undefined && /json/i.test(field.contentType)) return [[name, JSON.stringify(item)]];
    if (isObject(item) && field.style === undefined) return [[name, JSON.stringify(item)]];
    const style = field.style ?? "form";
    const explode = field.explode ?? style === "form";
    const parts = queryParts({ arg: name, name, in: "query", style, explode }, item, "repeat");
    return parts.map((part) => {
      const at = part.indexOf("=");
      return [decodeURIComponent(part.slice(0, at)), decodeURIComponent(part.slice(at + 1))];
    });
  });
}

function multipartParts(plan: BodyPlan, value: unknown): Part[] {
  return fieldsOf(plan, value).flatMap(([name, item]) => {
    const field = plan.fields?.[name] ?? {};
    const items = Array.isArray(item) && splits(field, item) ? item : [item];
    return items.filter((each) => each !== null && each !== undefined).map((each) => partOf(plan, name, field, each));
  });
}

/** A list is one part per item, unless its items are objects and its own type is JSON. */
function splits(field: FieldPlan, items: readonly unknown[]): boolean {
  if (field.file) return true;
  return field.contentType === undefined || !/json/i.test(field.contentType) || !items.some(isObject);
}

function partOf(plan: BodyPlan, name: string, field: FieldPlan, value: unknown): Part {
  if (field.file) {
    const file = fileOf(value, `${plan.arg}.${name}`);
    const [first] = (field.contentType ?? "").split(",");
    const contentType = file.contentType ?? (first && !first.includes("*") ? first.trim() : undefined);
    if (file.asset !== undefined) {
      const { asset, filename } = file;
      return { name, asset, ...(filename && { filename }), ...(contentType && { contentType }) };
    }
    const { filename = name, base64 = "" } = file;
    return { name, filename, contentType: contentType ?? "application/octet-stream", base64 };
  }
  const structured = typeof value === "object" && value !== null;
  const contentType = field.contentType ?? (structured ? "application/json" : undefined);
  return { name, ...(contentType === undefined ? {} : { contentType }), text: textOfValue(value) };
}

function fieldsOf(plan: BodyPlan, value: unknown): [string, unknown][] {
  if (!isObject(value)) throw new RequestRefused(`${plan.arg} must be an object of form fields.`);
  return Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
}

interface File {
  base64?: string;
  asset?: string;
  filename?: string;
  contentType?: string;
}

/** A file as a caller gives it: `{data, filename?, contentType?}`, or the base64 text or the handle alone. */
function fileOf(value: unknown, arg: string): File {
  const given = isObject(value) ? value : { data: value };
  const { data, filename, contentType } = given;
  if (typeof data !== "string")
    throw new RequestRefused(`${arg} must be a file: {"data": "<base64 or asset:// handle>", "filename": "..."}.`);
  for (const text of [filename, contentType]) {
    if (typeof text === "string" && /\p{Cc}/u.test(text)) throw new RequestRefused(`${arg} holds control characters.`);
  }
  return {
    ...contentOf(data, arg),
    ...(typeof filename === "string" ? { filename } : {}),
    ...(typeof contentType === "string" ? { contentType } : {}),
  };
}

function contentOf(data: string, arg: string): Pick<File, "base64" | "asset"> {
  if (isAssetHandle(data)) return { asset: data };
  const base64 = data.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  if (/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return { base64 };
  throw new RequestRefused(`${arg}.data must be base64, or the asset:// handle of a file exactly as it was given.`);
}

function limited(parts: Part[], arg: string): Part[] {
  const bytes = parts.reduce((sum, part) => sum + (part.base64 ?? "").length * 0.75, 0);
  if (bytes <= MAX_FILE_BYTES) return parts;
  throw new RequestRefused(
    `${arg} holds about ${Math.round(bytes)} bytes of files; at most ${MAX_FILE_BYTES} are sent.`,
  );
}

/** application/x-www-form-urlencoded (WHATWG URL, 5.2): a space is a plus. */
export function formText(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${formCode(name)}=${formCode(value)}`).join("&");
}

function formCode(text: string): string {
  return encode(text).replaceAll("%20", "+");
}
