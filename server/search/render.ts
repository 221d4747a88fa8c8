/** How a tool is shown in an answer: trimmed definition, signature, or one sentence. All of it stays callable. */
import type { JsonObject } from "../../adapters/contract.ts";

const MAX_DESCRIPTION = 400;
const MAX_PARAMETER = 120;
const MAX_SENTENCE = 140;
const MAX_SIGNATURE = 480;
const MAX_DEPTH = 12;
/** Keywords that tell a caller nothing about how to fill a property in. */
const DROPPED = new Set(["title", "default", "$schema", "$id", "$comment", "examples", "example", "deprecated"]);
/** Keywords whose keys are names of the schema's author, not keywords. */
const NAMED = new Set(["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]);

/** Cuts a text at a word, so that it is at most `most` UTF-16 units long with the ellipsis. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most - 1);
  const space = cut.lastIndexOf(" ");
  return `${cut
    .slice(0, space > most / 2 ? space : most - 1)
    .replace(/[\uD800-\uDBFF]$/, "")
    .trimEnd()}…`;
}

/** The first sentence of a description on one line. */
export function firstSentence(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const end = /[.!?](?=\s)|[。！？]/.exec(line);
  return cutText(end ? line.slice(0, end.index + 1) : line, MAX_SENTENCE);
}

export function trimDescription(text: string): string {
  return cutText(text.trim(), MAX_DESCRIPTION);
}

/** A copy of a JSON Schema with long descriptions cut and decoration dropped; everything that validates stays. */
export function trimSchema(schema: JsonObject): JsonObject {
  const trimmed = trimNode(schema, 0);
  return isObject(trimmed) ? trimmed : {};
}

function trimNode(node: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return isObject(node) ? {} : node;
  if (Array.isArray(node)) return node.map((element) => trimNode(element, depth + 1));
  if (!isObject(node)) return node;
  const out: [string, unknown][] = [];
  for (const [key, value] of Object.entries(node)) {
    if (DROPPED.has(key) || (key === "additionalProperties" && typeof value === "boolean")) continue;
    if (key === "description" && typeof value === "string") out.push([key, cutText(value.trim(), MAX_PARAMETER)]);
    else if (NAMED.has(key) && isObject(value)) {
      out.push([
        key,
        Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, trimNode(inner, depth + 1)])),
      ]);
    } else if (key === "enum" || key === "const" || key === "required") out.push([key, value]);
    else out.push([key, trimNode(value, depth + 1)]);
  }
  return Object.fromEntries(out);
}

/** `(owner, title, labels?: string[])`: required ones first; a type is told where it is not plain text. */
export function signatureOf(schema: JsonObject): string {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const names = Object.keys(properties);
  const parts = [...names.filter((name) => required.has(name)), ...names.filter((name) => !required.has(name))].map(
    (name) => {
      const type = typeText(properties[name], 0);
      return `${name}${required.has(name) ? "" : "?"}${type === "string" ? "" : `: ${type}`}`;
    },
  );
  let text = "";
  for (const [at, part] of parts.entries()) {
    if (text.length + part.length > MAX_SIGNATURE) return `(${text}, … ${parts.length - at} more)`;
    text += (at > 0 ? ", " : "") + part;
  }
  return `(${text})`;
}

function typeText(property: unknown, depth: number): string {
  if (!isObject(property)) return "any";
  const { type, enum: values, items, anyOf, oneOf } = property;
  if (Array.isArray(values) && values.length <= 6 && values.every((value) => String(value).length <= 24)) {
    return values.map(String).join("|");
  }
  if (type === "array") return depth > 1 ? "array" : `${typeText(items ?? {}, depth + 1)}[]`;
  if (typeof type === "string") return type;
  const options = Array.isArray(type) ? type.map(String) : [];
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  if (depth === 0) for (const branch of branches) options.push(typeText(branch, depth + 1));
  const real = [...new Set(options)].filter((option) => option !== "null");
  return real.length > 0 && real.length <= 3 ? real.join("|") : "any";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
