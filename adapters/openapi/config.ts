/** The adapter's own keys of a connection. */
import type { JsonObject } from "../contract.ts";
import { isObject, objectOf, stringsOf, textOf } from "../http-request/json.ts";
import type { DeepLists } from "../http-request/plan.ts";
import type { Overrides } from "./overrides.ts";

export type Source =
  /** Fetched without a credential. */
  | { kind: "url"; url: string }
  /** Absolute; only configuration files name one, never the web. */
  | { kind: "file"; path: string }
  | { kind: "text"; text: string };

export interface OpenApiConfig {
  source: Source;
  baseUrl: string | undefined;
  variables: Record<string, string>;
  overrides: Overrides;
  deprecated: "hide" | "show";
  deepLists: DeepLists;
  idempotencyHeader: string | undefined;
}

export const configSchema: JsonObject = {
  type: "object",
  properties: {
    spec: {
      type: "string",
      title: "Document",
      description: "https URL of the OpenAPI document.",
    },
    specText: { type: "string", title: "Document as text", description: "The document itself, in JSON or YAML." },
    specFile: { type: "string", title: "File of the document", description: "Absolute path; only from files." },
    baseUrl: {
      type: "string",
      format: "uri",
      title: "Base URL",
      description: "Where the service is; stands above every server that the document names.",
    },
    variables: {
      type: "object",
      title: "Server variables",
      description: "Values of the variables in the document's servers.",
      additionalProperties: { type: "string" },
    },
    overrides: {
      type: "object",
      title: "Reads and writes",
      description: "Patterns over operation names that say what an operation's method does not. Write wins.",
      properties: {
        read: { type: "array", items: { type: "string" } },
        write: { type: "array", items: { type: "string" } },
      },
      additionalProperties: false,
    },
    deprecated: { enum: ["hide", "show"], default: "hide", title: "Deprecated operations" },
    deepLists: {
      enum: ["repeat", "brackets", "indexed"],
      default: "repeat",
      title: "Lists in deepObject parameters",
      description: "a[b]=1&a[b]=2, a[b][]=1&a[b][]=2 or a[b][0]=1&a[b][1]=2.",
    },
    idempotencyHeader: {
      type: "string",
      title: "Idempotency header",
      description: "Sent with a fresh key by every POST and PATCH.",
    },
  },
  oneOf: [{ required: ["spec"] }, { required: ["specText"] }, { required: ["specFile"] }],
};

/** Reads a configuration that `configSchema` has accepted. @throws TypeError on anything else */
export function readConfig(config: JsonObject): OpenApiConfig {
  const overrides = objectOf(config["overrides"]);
  const { deepLists } = config;
  return {
    source: sourceOf(config),
    baseUrl: textOf(config["baseUrl"]),
    variables: isObject(config["variables"]) ? stringMap(config["variables"]) : {},
    overrides: { read: stringsOf(overrides["read"]), write: stringsOf(overrides["write"]) },
    deprecated: config["deprecated"] === "show" ? "show" : "hide",
    deepLists: deepLists === "brackets" || deepLists === "indexed" ? deepLists : "repeat",
    idempotencyHeader: textOf(config["idempotencyHeader"]),
  };
}

function sourceOf({ spec, specText, specFile }: JsonObject): Source {
  if (typeof specFile === "string") return { kind: "file", path: specFile };
  if (typeof specText === "string") return { kind: "text", text: specText };
  if (typeof spec === "string" && URL.canParse(spec)) return { kind: "url", url: spec };
  throw new TypeError("an openapi connection needs a document");
}

function stringMap(value: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
