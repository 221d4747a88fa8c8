/** Bytes -> one parsed OpenAPI document. Nothing is validated: a fault costs the operation it is in, never the document. */
import { CORE_SCHEMA, defineScalarTag, load, mergeTag, NOT_RESOLVED } from "js-yaml";
import type { JsonObject } from "../contract.ts";
import { isObject } from "../http-request/json.ts";

export type SpecVersion = "2.0" | "3.0" | "3.1" | "3.2";

export interface OpenApiDocument {
  root: JsonObject;
  version: SpecVersion;
  /** About the text itself. */
  warnings: string[];
}

/** What was given is no OpenAPI document; the message is for the person who named it. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/** Characters that the slow, lenient YAML parser is tried with. */
const MAX_LENIENT = 4 * 1024 * 1024;
const MAX_ALIASES = 100_000;
const MAX_DEPTH = 500;
const OUTDENTED = /^deficient indentation/;
/** Lines that are moved to the right; each costs a reading up to the next. */
const MAX_MOVES = 12;
const MOVE = " ".repeat(40);

/**
 * Numbers that are not written as JSON writes them (`012`, `0x1f`, `+1`, `.inf`) stay the text that their author wrote:
 * these are values of enums, and not numbers.
 */
const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const numberTag = (name: "int" | "float", pattern: RegExp) =>
  defineScalarTag(`tag:yaml.org,2002:${name}`, {
    implicit: true,
    implicitFirstChars: [..."-0123456789"],
    resolve: (source) => (pattern.test(source) ? Number(source) : NOT_RESOLVED),
    identify: () => false,
  });
/** YAML 1.2 core schema: `on`, `off` and dates are text. Merge keys are of 1.1, and common. */
const SCHEMA = CORE_SCHEMA.withTags(numberTag("int", INTEGER), numberTag("float", NUMBER), mergeTag);

/** @throws DocumentError */
export async function parseDocument(bytes: Uint8Array): Promise<OpenApiDocument> {
  const { value: root, warnings } = await parseText(decode(bytes));
  if (!isObject(root)) throw new DocumentError("The document is not an OpenAPI document: it is not an object.");
  return { root, version: versionOf(root), warnings };
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return new TextDecoder("utf-8").decode(bytes);
}

interface ParsedText {
  value: unknown;
  warnings: string[];
}

async function parseText(text: string): Promise<ParsedText> {
  if (/^\s*[[{]/.test(text)) {
    try {
      return { value: JSON.parse(text), warnings: [] };
    } catch {
      // JSON with comments or trailing commas is YAML, mostly.
    }
  }
  if (/^\s*<(?:!doctype|html|\?xml)/i.test(text)) {
    throw new DocumentError("The address gives a web page, not an OpenAPI document in JSON or YAML.");
  }
  let reason: string;
  try {
    return loadYaml(text);
  } catch (error) {
    reason = firstLine(error);
    const moved = OUTDENTED.test(reason) ? loadOutdented(text, error) : undefined;
    if (moved !== undefined) return moved;
  }
  const lenient = text.length <= MAX_LENIENT ? await parseLeniently(text) : undefined;
  if (lenient !== undefined) return lenient;
  throw new DocumentError(`The document is neither JSON nor YAML: ${reason}`);
}

function loadYaml(text: string): ParsedText {
  const value = load(text, {
    schema: SCHEMA,
    json: true,
    maxAliases: MAX_ALIASES,
    maxTotalMergeKeys: 100_000,
    maxDepth: MAX_DEPTH,
  });
  return { value, warnings: [] };
}

/**
 * Quoted texts and lists in brackets whose further lines stand too far to the left, as older parsers took them. Blanks
 * at the beginning of such a line mean nothing, so it is moved to the right, and the text is read once more.
 * @param fault what the first reading threw
 * @returns undefined where that is not all, or too often
 */
function loadOutdented(text: string, fault: unknown): ParsedText | undefined {
  const lines = text.split("\n");
  let error = fault;
  for (let moves = 0; moves < MAX_MOVES && OUTDENTED.test(firstLine(error)); moves += 1) {
    const line = lineOf(error);
    const found = line === undefined ? undefined : lines[line];
    if (line === undefined || found === undefined || found.startsWith(MOVE)) return undefined;
    lines[line] = MOVE + found;
    try {
      const { value } = loadYaml(lines.join("\n"));
      return { value, warnings: [`${moves + 1} lines of the YAML stand too far to the left`] };
    } catch (next) {
      error = next;
    }
  }
  return undefined;
}

/** Of the mark that the parser puts into its errors; the first line is 0. */
function lineOf(error: unknown): number | undefined {
  const mark: unknown = error instanceof Error ? Reflect.get(error, "mark") : undefined;
  const line: unknown = isObject(mark) ? mark["line"] : undefined;
  return typeof line === "number" ? line : undefined;
}

/** YAML with faults that others overlook, in examples most of all. Undefined where too little is left of it. */
async function parseLeniently(text: string): Promise<ParsedText | undefined> {
  // Rarely needed, and slow to load.
  const yaml = await import("yaml");
  try {
    const document = yaml.parseDocument(text, {
      strict: false,
      merge: true,
      schema: "core",
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
    });
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    const [first, ...others] = document.errors;
    if (first === undefined) return { value, warnings: [] };
    if (!isObject(value) || !isObject(value["paths"])) return undefined;
    const more = others.length === 0 ? "" : `, and ${others.length} more`;
    return { value, warnings: [`the YAML has faults and may be read wrongly: ${firstLine(first)}${more}`] };
  } catch {
    // The first parser's reason says more: it has a line number.
    return undefined;
  }
}

function versionOf(root: JsonObject): SpecVersion {
  const { swagger, openapi } = root;
  if (swagger !== undefined) {
    if (/^2(\.|$)/.test(String(swagger))) return "2.0";
    throw new DocumentError(`Swagger ${String(swagger).slice(0, 20)} is not supported; versions 2.0 and 3.x are.`);
  }
  if (openapi !== undefined) {
    const minor = /^3(?:\.(\d+))?/.exec(String(openapi));
    if (!minor) {
      throw new DocumentError(`OpenAPI ${String(openapi).slice(0, 20)} is not supported; versions 2.0 and 3.x are.`);
    }
    const number = Number(minor[1] ?? 0);
    return number === 0 ? "3.0" : number === 1 ? "3.1" : "3.2";
  }
  if (root["asyncapi"] !== undefined) throw new DocumentError("This is an AsyncAPI document, not OpenAPI.");
  if (root["swaggerVersion"] !== undefined) throw new DocumentError("Swagger 1.x is not supported; 2.0 and 3.x are.");
  throw new DocumentError("The document is not an OpenAPI document: it has neither openapi nor swagger.");
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split("\n")[0] ?? "").slice(0, 300);
}
