/** The adapter's own keys of a connection: endpoints that an administrator declares by hand. */
import type { JsonObject } from "../contract.ts";
import { arrayOf, isObject, objectOf, stringsOf, textOf } from "../http-request/json.ts";

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] as const;

export interface Endpoint {
  name: string;
  title: string | undefined;
  description: string | undefined;
  method: string;
  path: string;
  /** JSON Schemas of the arguments, by name. */
  arguments: JsonObject;
  required: string[];
  /** Name on the wire -> `{argument}` or a fixed value. */
  query: Record<string, string>;
  headers: Record<string, string>;
  body: { kind: "json" | "form" | "multipart" | "file"; template: unknown } | undefined;
  pick: string | undefined;
  class: "read" | "write";
}

export interface HttpApiConfig {
  baseUrl: string;
  endpoints: Endpoint[];
}

const strings: JsonObject = { type: "object", additionalProperties: { type: "string" } };

export const configSchema: JsonObject = {
  type: "object",
  required: ["baseUrl", "endpoints"],
  properties: {
    baseUrl: { type: "string", format: "uri", title: "Base URL", description: "What every path is appended to." },
    endpoints: {
      type: "array",
      title: "Endpoints",
      minItems: 1,
      items: {
        type: "object",
        required: ["name", "method", "path"],
        additionalProperties: false,
        properties: {
          name: { type: "string", title: "Name", pattern: "^[A-Za-z][A-Za-z0-9_.-]{0,63}$" },
          title: { type: "string", title: "Title" },
          description: { type: "string", title: "What it does" },
          method: { enum: [...METHODS], title: "Method" },
          path: { type: "string", title: "Path", description: "{name} takes an argument.", pattern: "^/" },
          arguments: { type: "object", title: "Arguments", description: "A JSON Schema for each, by name." },
          required: { type: "array", title: "Required arguments", items: { type: "string" } },
          query: { ...strings, title: "Query", description: "Values; {name} takes an argument." },
          headers: { ...strings, title: "Headers", description: "Values; {name} takes an argument. Never a secret." },
          json: { title: "JSON body", description: "A template; the text {name} takes an argument." },
          form: { ...strings, title: "Form body", description: "Values; {name} takes an argument." },
          multipart: {
            ...strings,
            title: "Multipart form body",
            description: "Values; {name} takes an argument. An argument of format binary is a file.",
          },
          file: { type: "string", title: "File as body", description: "{name}: the argument that is the file." },
          pick: { type: "string", title: "Part of the answer", description: "JSON Pointer.", pattern: "^/" },
          class: { enum: ["read", "write"], title: "Reads or writes", description: "Default: GET and HEAD read." },
        },
      },
    },
  },
};

/** Reads a configuration that `configSchema` has accepted. @throws TypeError on anything else */
export function readConfig(config: JsonObject): HttpApiConfig {
  const { baseUrl } = config;
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) throw new TypeError("an http connection needs a baseUrl");
  return { baseUrl, endpoints: arrayOf(config["endpoints"]).filter(isObject).map(endpointOf) };
}

function endpointOf(given: JsonObject): Endpoint {
  const method = String(given["method"]).toUpperCase();
  const reads = method === "GET" || method === "HEAD";
  const declared = given["class"];
  return {
    name: String(given["name"]),
    title: textOf(given["title"]),
    description: textOf(given["description"]),
    method,
    path: String(given["path"]),
    arguments: objectOf(given["arguments"]),
    required: stringsOf(given["required"]),
    query: stringMap(given["query"]),
    headers: stringMap(given["headers"]),
    body: bodyOf(given),
    pick: textOf(given["pick"]),
    class: declared === "read" || declared === "write" ? declared : reads ? "read" : "write",
  };
}

function bodyOf({ json, form, multipart, file }: JsonObject): Endpoint["body"] {
  if (json !== undefined) return { kind: "json", template: json };
  if (form !== undefined) return { kind: "form", template: stringMap(form) };
  if (multipart !== undefined) return { kind: "multipart", template: stringMap(multipart) };
  return file === undefined ? undefined : { kind: "file", template: file };
}

function stringMap(value: unknown): Record<string, string> {
  const entries = Object.entries(objectOf(value));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
