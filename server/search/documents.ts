/** A tool as search sees it: texts by field, tokenised once per definition and remembered. */
import type { JsonObject } from "../../adapters/contract.ts";
import apps from "./data/apps.json" with { type: "json" };
import { splitWords, tokenize } from "./tokenize.ts";

export interface SearchDocument {
  /** Public name. */
  readonly name: string;
  /** Slug of its connection. */
  readonly connection: string;
  /** The upstream's own name. */
  readonly action: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly connectionLabel: string;
  readonly connectionDescription: string;
  readonly aliases: readonly string[];
  readonly access: "read" | "write";
  /** Hash of the definition: the key of what is remembered about it. */
  readonly schemaHash: string;
}

/**
 * Fields and their weights: action, title, description, names of parameters, their descriptions; of the connection its
 * names, its description, and what is known of an app of that name.
 */
export const FIELD_WEIGHTS = [3, 2, 1, 0.4, 0.3, 2, 0.5, 0.4] as const;
export const FIELDS = FIELD_WEIGHTS.length;
/** The fields of the tool itself; the rest are its connection's. */
const OWN_FIELDS = 5;

/** Unique terms of a text group with the frequency in each field: `tf[term * FIELDS + field]`. */
export interface Terms {
  readonly terms: readonly string[];
  readonly tf: Uint16Array;
  readonly lengths: readonly number[];
}

/** What well-known apps are for, by name: a connection called "gmail" is about mail though none of its tools says so. */
const KINDS: ReadonlyMap<string, string> = new Map(Object.entries(apps));

const remembered = new Map<string, Terms>();
const MAX_REMEMBERED = 100_000;

/** The tool's own terms; remembered by definition, so that rebuilding an index does not tokenise again. */
export function ownTerms(document: SearchDocument): Terms {
  const key = `${document.schemaHash}\0${document.action}\0${document.title ?? ""}`;
  let terms = remembered.get(key);
  if (terms === undefined) {
    const parameters = parameterTexts(document.inputSchema);
    terms = countTerms(0, [
      document.action,
      document.title ?? "",
      document.description ?? "",
      parameters.names.join(" "),
      parameters.descriptions.join(" "),
    ]);
    if (remembered.size >= MAX_REMEMBERED) remembered.delete(remembered.keys().next().value ?? key);
    remembered.set(key, terms);
  }
  return terms;
}

/** Terms of a connection, shared by its tools. */
export function connectionTerms(document: SearchDocument): Terms {
  const names = [document.connection, document.connectionLabel, ...document.aliases].join(" ");
  const known = splitWords(names).flatMap((word) => tokenize(KINDS.get(word) ?? ""));
  return countTerms(OWN_FIELDS, [[...new Set(tokenize(names))], document.connectionDescription, [...new Set(known)]]);
}

function countTerms(firstField: number, texts: readonly (string | readonly string[])[]): Terms {
  const rows = new Map<string, number[]>();
  const lengths: number[] = Array.from({ length: FIELDS }, () => 0);
  texts.forEach((text, at) => {
    const field = firstField + at;
    const tokens = typeof text === "string" ? tokenize(text) : text;
    lengths[field] = tokens.length;
    for (const token of tokens) {
      const row = rows.get(token) ?? Array.from({ length: FIELDS }, () => 0);
      row[field] = row[field]! + 1;
      rows.set(token, row);
    }
  });
  return { terms: [...rows.keys()], tf: Uint16Array.from([...rows.values()].flat()), lengths };
}

const MAX_DEPTH = 4;
const MAX_PROPERTIES = 400;
const MAX_ENUM = 20;

/** Names, descriptions and enums of a schema's properties, nested ones included, bounded. */
export function parameterTexts(schema: unknown): { names: string[]; descriptions: string[] } {
  const out = { names: [] as string[], descriptions: [] as string[] };
  const visit = (node: unknown, depth: number) => {
    if (typeof node !== "object" || node === null || depth > MAX_DEPTH || out.names.length > MAX_PROPERTIES) return;
    const { properties, items, anyOf, oneOf, allOf } = node as JsonObject;
    if (typeof properties === "object" && properties !== null) {
      for (const [name, property] of Object.entries(properties)) {
        out.names.push(name);
        if (typeof property !== "object" || property === null) continue;
        const { title, description, enum: values } = property as JsonObject;
        if (typeof title === "string" && title.toLowerCase() !== name.toLowerCase()) out.names.push(title);
        if (typeof description === "string") out.descriptions.push(description.slice(0, 2000));
        if (Array.isArray(values)) out.descriptions.push(values.slice(0, MAX_ENUM).map(String).join(" "));
        visit(property, depth + 1);
      }
    }
    visit(items, depth + 1);
    for (const branches of [anyOf, oneOf, allOf]) {
      if (Array.isArray(branches)) for (const branch of branches) visit(branch, depth + 1);
    }
  };
  visit(schema, 0);
  return out;
}
