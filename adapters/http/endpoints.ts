/** One declared endpoint -> one tool and the plan of its requests. */
import type { JsonObject, ToolDefinition } from "../contract.ts";
import { FILE } from "../http-request/file-argument.ts";
import { isObject, objectOf, own } from "../http-request/json.ts";
import type { BodyPlan, OperationPlan, ParameterPlan } from "../http-request/plan.ts";
import { encode } from "../http-request/styles.ts";
import type { Endpoint } from "./config.ts";

/** Key of the body among what is built; no argument can be called so. */
const BODY = "(body)";
/** Methods whose arguments go into the query where nothing places them. */
const BY_QUERY = new Set(["GET", "HEAD", "DELETE"]);

export interface DeclaredOperation {
  tool: ToolDefinition;
  plan: OperationPlan;
  /** The arguments as the plan takes them. */
  arrange(args: JsonObject): JsonObject;
}

export function operationOf(endpoint: Endpoint, baseUrl: string): DeclaredOperation {
  const { method, path, headers } = endpoint;
  const inPath = [...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? "");
  const placed = new Set(inPath);
  const parameters: ParameterPlan[] = inPath.map((name) => ({
    arg: name,
    name,
    in: "path",
    style: "simple",
    explode: false,
    required: true,
  }));
  const fixedQuery: string[] = [];
  const place = (wire: string, value: string, where: "query" | "header"): string | undefined => {
    const arg = argumentOf(value);
    if (arg === undefined) return value;
    placed.add(arg);
    const style =
      where === "query" ? ({ style: "form", explode: true } as const) : ({ style: "simple", explode: false } as const);
    parameters.push({ arg, name: wire, in: where, ...style });
    return undefined;
  };
  for (const [wire, value] of Object.entries(endpoint.query)) {
    const fixed = place(wire, value, "query");
    if (fixed !== undefined) fixedQuery.push(`${encode(wire)}=${encode(fixed)}`);
  }
  const fixedHeaders: Record<string, string> = {};
  for (const [wire, value] of Object.entries(headers)) {
    const fixed = place(wire, value, "header");
    if (fixed !== undefined) fixedHeaders[wire] = fixed;
  }
  const template = templateOf(endpoint, placed, parameters);
  const body = template && bodyPlan(template, endpoint.arguments);
  const plan: OperationPlan = {
    method,
    path: fixedQuery.length === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}${fixedQuery.join("&")}`,
    server: baseUrl,
    parameters,
    accept: "application/json, */*;q=0.5",
    ...(body === undefined ? {} : { body }),
    ...(endpoint.pick === undefined ? {} : { pick: endpoint.pick }),
    ...(Object.keys(fixedHeaders).length === 0 ? {} : { headers: fixedHeaders }),
  };
  return {
    tool: toolOf(endpoint, placed),
    plan,
    arrange: (args) => {
      if (template === undefined) return args;
      const value = filled(template.template, args);
      return { ...args, [BODY]: value ?? (template.kind === "file" ? undefined : {}) };
    },
  };
}

function bodyPlan({ kind, template }: NonNullable<Endpoint["body"]>, schemas: JsonObject): BodyPlan {
  switch (kind) {
    case "json":
      return { arg: BODY, kind, mediaType: "application/json" };
    case "form":
      return { arg: BODY, kind, mediaType: "application/x-www-form-urlencoded" };
    case "multipart": {
      const files = Object.entries(objectOf(template)).filter(([, value]) =>
        isFile(own(schemas, argumentOf(value) ?? "")),
      );
      const fields = Object.fromEntries(files.map(([wire]) => [wire, { file: true } as const]));
      return { arg: BODY, kind, mediaType: "multipart/form-data", fields };
    }
    case "file":
      return { arg: BODY, kind: "binary", mediaType: "*/*" };
  }
}

/** An argument of bytes, or a list of such. */
function isFile(schema: unknown): boolean {
  const { format, contentEncoding, items } = objectOf(schema);
  if (format === "binary" || format === "byte" || contentEncoding === "base64") return true;
  return isObject(items) && isFile(items);
}

/** Arguments that are sent as files: as the whole body, or as parts of a form. */
function filesOf({ body, arguments: schemas }: Endpoint): ReadonlySet<string> {
  if (body?.kind === "file") return new Set(argumentsIn(body.template));
  if (body?.kind !== "multipart") return new Set();
  return new Set(argumentsIn(body.template).filter((name) => isFile(own(schemas, name))));
}

/** What nothing places goes into the query or the JSON body, as the method has it. */
function templateOf(endpoint: Endpoint, placed: Set<string>, parameters: ParameterPlan[]): Endpoint["body"] {
  if (endpoint.body !== undefined) for (const name of argumentsIn(endpoint.body.template)) placed.add(name);
  const left = Object.keys(endpoint.arguments).filter((name) => !placed.has(name));
  if (left.length === 0) return endpoint.body;
  for (const name of left) placed.add(name);
  if (BY_QUERY.has(endpoint.method) || endpoint.body !== undefined) {
    for (const name of left) parameters.push({ arg: name, name, in: "query", style: "form", explode: true });
    return endpoint.body;
  }
  return { kind: "json", template: Object.fromEntries(left.map((name) => [name, `{${name}}`])) };
}

function toolOf(endpoint: Endpoint, placed: ReadonlySet<string>): ToolDefinition {
  const { name, title, description, method, path } = endpoint;
  const inPath = [...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? "");
  const files = filesOf(endpoint);
  const properties = [...placed].map((key) => [key, schemaOf(endpoint.arguments, key, files.has(key))]);
  const required = [...new Set([...inPath, ...endpoint.required])];
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description: description ?? `${method} ${path}`,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    },
    annotations: {
      readOnlyHint: endpoint.class === "read",
      ...(endpoint.class === "write" ? { destructiveHint: method === "DELETE" } : {}),
    },
  };
}

function schemaOf(schemas: JsonObject, name: string, file: boolean): JsonObject {
  const schema = own(schemas, name);
  if (!file) return isObject(schema) ? schema : { type: "string" };
  const { description, type } = objectOf(schema);
  const one = { ...FILE, ...(typeof description === "string" ? { description } : {}) };
  return type === "array" ? { type, items: one } : one;
}

/** `{name}` and nothing else. */
function argumentOf(value: unknown): string | undefined {
  return typeof value === "string" ? /^\{([^{}]+)\}$/.exec(value)?.[1] : undefined;
}

function argumentsIn(template: unknown): string[] {
  const arg = argumentOf(template);
  if (arg !== undefined) return [arg];
  if (Array.isArray(template)) return template.flatMap(argumentsIn);
  return Object.values(objectOf(template)).flatMap(argumentsIn);
}

/** The template with its arguments; undefined for one that is absent, and its key is left out. */
function filled(template: unknown, args: JsonObject): unknown {
  const arg = argumentOf(template);
  if (arg !== undefined) return own(args, arg);
  if (Array.isArray(template)) return template.map((item) => filled(item, args)).filter((item) => item !== undefined);
  if (!isObject(template)) return template;
  const entries = Object.entries(template).map(([key, item]) => [key, filled(item, args)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}
