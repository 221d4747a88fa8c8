/** What a connection remembers of its document: how each operation is called, so that no call needs the document. */
import { createHash } from "node:crypto";
import type { AdapterMemory, JsonObject } from "../contract.ts";
import { isObject, stringsOf, textOf } from "../http-request/json.ts";
import type { SchemePlan } from "../http-request/plan.ts";
import type { ReadDocument } from "./reader.ts";

export interface Remembered {
  /** Of the configuration it was made under. */
  config: string;
  /** Packed plans. */
  plans: string;
  /** Packed whole schemas. */
  wholes: string;
  schemes: Record<string, SchemePlan>;
  /** Origins that operations may be sent to: those of the first import under this configuration. */
  origins: string[];
  title: string;
  description: string;
}

/** Changes with everything an administrator sets; what is his word anew is trusted anew. */
export function configDigest(config: JsonObject): string {
  const { spec, specText, specFile, baseUrl, variables } = config;
  return createHash("sha256")
    .update(JSON.stringify([spec, specText, specFile, baseUrl, variables]))
    .digest("hex");
}

export function remember(config: JsonObject, document: ReadDocument, origins: string[]): AdapterMemory {
  const { plans, wholes, schemes, title, description } = document;
  const kept = { plans, wholes, schemes: { ...schemes }, origins, title, description };
  return { openapi: 1, config: configDigest(config), ...kept };
}

/** Undefined where nothing is remembered, or by another version of this. */
export function recall(memory: AdapterMemory | undefined): Remembered | undefined {
  if (memory?.["openapi"] !== 1) return undefined;
  const { config, plans, wholes, schemes, origins, title, description } = memory;
  if (typeof config !== "string" || typeof plans !== "string" || !isObject(schemes)) return undefined;
  return {
    config,
    plans,
    wholes: textOf(wholes) ?? "",
    schemes: schemesOf(schemes),
    origins: stringsOf(origins),
    title: textOf(title) ?? "",
    description: textOf(description) ?? "",
  };
}

function schemesOf(stored: JsonObject): Record<string, SchemePlan> {
  const entries = Object.entries(stored).flatMap(([name, value]): [string, SchemePlan][] => {
    if (!isObject(value)) return [];
    const { type, in: place, name: key, what } = value;
    if (type === "basic" || type === "bearer") return [[name, { type }]];
    if (
      type === "apiKey" &&
      (place === "header" || place === "query" || place === "cookie") &&
      typeof key === "string"
    ) {
      return [[name, { type, in: place, name: key }]];
    }
    return [[name, { type: "other", what: String(what) }]];
  });
  return Object.fromEntries(entries);
}
