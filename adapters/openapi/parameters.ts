/** Parameters of one operation: which there are, what they are called as arguments, how they go over the wire. */
import type { JsonObject } from "../contract.ts";
import { arrayOf, isObject, objectOf, textOf } from "../http-request/json.ts";
import type { ParameterPlan, Place, Style } from "../http-request/plan.ts";
import type { SpecVersion } from "./document.ts";
import type { References } from "./references.ts";

/** One argument that is a parameter. */
export interface Parameter {
  plan: ParameterPlan;
  /** The schema as the document has it. */
  schema: unknown;
  description: string | undefined;
}

/** Set by the client or the credential, never by a model (OpenAPI 3.2, 4.12.1; RFC 9110, 7.6.1). */
const RESERVED_HEADERS = new Set([
  "accept",
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const PLACES: readonly Place[] = ["path", "query", "querystring", "header", "cookie"];
const STYLES: Readonly<Record<Place, readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  querystring: ["form"],
  header: ["simple"],
  cookie: ["form", "cookie"],
};

/** The parameters of an operation as the document has them: its own win over those of its path. */
export function declared(references: References, pathItem: JsonObject, operation: JsonObject): JsonObject[] {
  const found = new Map<string, JsonObject>();
  for (const given of [...arrayOf(pathItem["parameters"]), ...arrayOf(operation["parameters"])]) {
    const parameter = references.object(given);
    if (parameter === undefined || typeof parameter["in"] !== "string") continue;
    const name = parameter["name"];
    if (typeof name !== "string" || name === "") {
      if (parameter["in"] === "body") found.set("body", parameter);
      continue;
    }
    found.set(parameter["in"] === "body" ? "body" : `${parameter["in"]} ${name}`, parameter);
  }
  return [...found.values()];
}

export interface ParameterContext {
  references: References;
  version: SpecVersion;
  path: string;
  /** `<in> <name>` of the API keys of the document. */
  keys: ReadonlySet<string>;
  hasBody: boolean;
  /** `get /a`: for warnings. */
  label: string;
}

/** The parameters that are arguments, those of the path template included that nobody declared. */
export function parametersOf(given: readonly JsonObject[], context: ParameterContext): Parameter[] {
  const variables = [...context.path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] ?? "");
  const known = given.flatMap((parameter) => parameterOf(parameter, variables, context) ?? []);
  const inPath = new Set(known.filter(({ plan }) => plan.in === "path").map(({ plan }) => plan.name));
  const inQuery = new Set(known.filter(({ plan }) => plan.in === "query").map(({ plan }) => plan.name));
  const queryPart = context.path.indexOf("?");
  for (const name of new Set(variables)) {
    if (inPath.has(name)) continue;
    if (inQuery.has(name) && queryPart !== -1 && context.path.indexOf(`{${name}}`) > queryPart) continue;
    const plan: ParameterPlan = { arg: name, name, in: "path", style: "simple", explode: false, required: true };
    known.push({ plan, schema: { type: "string" }, description: undefined });
  }
  known.sort((a, b) => PLACES.indexOf(a.plan.in) - PLACES.indexOf(b.plan.in));
  const taken = new Set<string>(context.hasBody ? ["body"] : []);
  for (const { plan } of known) {
    for (let arg = plan.name; ; arg = arg === plan.name ? `${plan.name}__${plan.in}` : `${arg}_`) {
      plan.arg = arg;
      if (!taken.has(arg)) break;
    }
    taken.add(plan.arg);
  }
  return known;
}

function parameterOf(
  parameter: JsonObject,
  variables: readonly string[],
  { references, version, keys, label }: ParameterContext,
): Parameter | undefined {
  const name = String(parameter["name"]);
  const place = PLACES.find((each) => each === parameter["in"]);
  if (place === undefined || (place === "querystring" && version !== "3.2")) return undefined;
  if (place === "path" && !variables.includes(name)) {
    references.warn(`${label}: the path has no {${name}}; the parameter was left out`);
    return undefined;
  }
  if (place === "header" && (RESERVED_HEADERS.has(name.toLowerCase()) || !HEADER_NAME.test(name))) return undefined;
  if (place === "cookie" && !HEADER_NAME.test(name)) return undefined;
  if (keys.has(`${place} ${place === "header" ? name.toLowerCase() : name}`)) return undefined;
  const { schema, json } = schemaOf(references, parameter, version);
  const plan: ParameterPlan = { arg: name, name, in: place, ...styleOf(parameter, place, version) };
  if (json) plan.json = true;
  if (parameter["allowReserved"] === true) plan.reserved = true;
  const isKey = place === "header" && IDEMPOTENCY.test(name);
  if (place === "path" || (parameter["required"] === true && !isKey)) plan.required = true;
  return { plan, schema, description: textOf(parameter["description"]) };
}

/** A header that takes a fresh key per call (draft-ietf-httpapi-idempotency-key-header); sent unless given. */
export const IDEMPOTENCY = /^(?:x-)?idempotency-key$/i;

function schemaOf(
  references: References,
  parameter: JsonObject,
  version: SpecVersion,
): { schema: unknown; json: boolean } {
  if (version === "2.0") return { schema: parameter, json: false };
  if (parameter["schema"] !== undefined || !isObject(parameter["content"])) {
    return { schema: parameter["schema"] ?? { type: "string" }, json: false };
  }
  const [type = "", media] = Object.entries(parameter["content"])[0] ?? [];
  const json = /[/+]json\b/i.test(type);
  return { schema: objectOf(references.object(media))["schema"] ?? {}, json };
}

function styleOf(parameter: JsonObject, place: Place, version: SpecVersion): { style: Style; explode: boolean } {
  if (version === "2.0") return collectionFormat(parameter["collectionFormat"], place);
  const style = STYLES[place].find((each) => each === parameter["style"]) ?? STYLES[place][0] ?? "simple";
  const { explode } = parameter;
  return { style, explode: typeof explode === "boolean" ? explode : style === "form" || style === "cookie" };
}

/** Swagger 2.0 `collectionFormat`; without one it is `csv`. */
export function collectionFormat(format: unknown, place: Place): { style: Style; explode: boolean } {
  if (place !== "query") return { style: place === "cookie" ? "form" : "simple", explode: false };
  switch (format) {
    case "multi":
      return { style: "form", explode: true };
    case "ssv":
      return { style: "spaceDelimited", explode: false };
    case "tsv":
      return { style: "tabDelimited", explode: false };
    case "pipes":
      return { style: "pipeDelimited", explode: false };
    default:
      return { style: "form", explode: false };
  }
}
