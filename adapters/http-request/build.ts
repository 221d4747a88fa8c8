/** One operation and its arguments -> one request, without credentials. Pure. */
import type { JsonObject } from "../contract.ts";
import { type Body, bodyOf } from "./body.ts";
import { isObject, own } from "./json.ts";
import type { DeepLists, OperationPlan, ParameterPlan } from "./plan.ts";
import { cookieParts, encode, headerText, pathText, queryParts, RequestRefused, textOfValue } from "./styles.ts";

export interface BuiltRequest {
  method: string;
  url: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: Body;
}

export interface BuildOptions {
  /** The administrator's base URL: it stands above every server of the document. */
  baseUrl?: string | undefined;
  deepLists?: DeepLists;
}

/** @throws RequestRefused with words for the caller */
export function buildRequest(plan: OperationPlan, args: JsonObject, options: BuildOptions = {}): BuiltRequest {
  const { deepLists = "repeat" } = options;
  const given = (parameter: ParameterPlan) => {
    const value = own(args, parameter.arg);
    if (parameter.required && parameter.in === "path" && (value === null || value === undefined)) {
      throw new RequestRefused(`${parameter.arg} is missing.`);
    }
    return value ?? undefined;
  };
  const { path, fixed } = splitPath(plan.path);
  const byName = new Map(plan.parameters.filter(({ in: place }) => place === "path").map((each) => [each.name, each]));
  const filled = path.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const parameter = byName.get(name);
    return parameter === undefined ? encode(whole) : pathText(parameter, given(parameter));
  });
  for (const segment of filled.split("/")) {
    if (/^(?:\.|%2e){1,2}$/i.test(segment)) throw new RequestRefused("The arguments lead to another path.");
  }
  const query: string[] = [];
  const headers: Record<string, string> = {};
  const cookies: string[] = [];
  for (const parameter of plan.parameters) {
    const value = given(parameter);
    if (value === undefined) continue;
    if (parameter.in === "query") query.push(...queryParts(parameter, value, deepLists));
    else if (parameter.in === "querystring") query.push(...wholeQuery(value));
    else if (parameter.in === "header") headers[parameter.name.toLowerCase()] = headerText(parameter, value);
    else if (parameter.in === "cookie") cookies.push(...cookieParts(parameter, value));
  }
  if (cookies.length > 0) headers["cookie"] = cookies.join("; ");
  for (const [name, value] of Object.entries(plan.headers ?? {})) headers[name.toLowerCase()] = value;
  const body = requestBody(plan, args, headers);
  const base = baseOf(options.baseUrl ?? plan.server);
  const url = new URL(base.href.replace(/[?#].*$/, "").replace(/\/$/, "") + filled);
  const taken = new Set(query.map((part) => decodedName(part)));
  const constant = fixed
    .map((part) => part.replace(/\{([^{}]+)\}/g, (whole, name: string) => inQuery(whole, byName.get(name), given)))
    .filter((part) => !part.includes("{") && !taken.has(decodedName(part)));
  const parts = [...base.search.slice(1).split("&").filter(Boolean), ...constant, ...query];
  if (parts.length > 0) url.search = parts.join("&");
  return { method: plan.method, url: url.href, headers, body };
}

/** A path key may carry a query or a fragment that tells operations apart (`/#X-Amz-Target=...`, `/?Action=...`). */
function splitPath(template: string): { path: string; fixed: string[] } {
  const [whole = ""] = template.split("#");
  const at = whole.indexOf("?");
  const path = at === -1 ? whole : whole.slice(0, at);
  const fixed =
    at === -1
      ? []
      : whole
          .slice(at + 1)
          .split("&")
          .filter(Boolean);
  return { path: path.startsWith("/") ? path : `/${path}`, fixed };
}

/** A variable in the query part of a path key; one that nothing fills keeps its braces, and its part is left out. */
function inQuery(whole: string, parameter: ParameterPlan | undefined, given: (of: ParameterPlan) => unknown): string {
  const value = parameter === undefined ? undefined : given(parameter);
  return value === undefined ? whole : encode(textOfValue(value));
}

function decodedName(part: string): string {
  const [name = ""] = part.split("=");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** OpenAPI 3.2 `in: querystring`: one value is the whole query. */
function wholeQuery(value: unknown): string[] {
  if (!isObject(value)) return [encode(textOfValue(value), true)];
  return Object.entries(value).flatMap(([name, item]) =>
    queryParts({ arg: name, name, in: "query", style: "form", explode: true }, item, "repeat"),
  );
}

function requestBody(plan: OperationPlan, args: JsonObject, headers: Record<string, string>): Body {
  const { body } = plan;
  if (body === undefined) return { kind: "none" };
  const value = own(args, body.arg);
  if (value === undefined || (value === null && body.kind !== "json")) {
    if (body.required) throw new RequestRefused(`${body.arg} is missing.`);
    return { kind: "none" };
  }
  const made = bodyOf(body, value);
  const declared = body.mediaType.includes("*") ? undefined : body.mediaType;
  if (made.kind === "binary") headers["content-type"] = declared ?? made.contentType ?? "application/octet-stream";
  else if (made.kind === "asset") {
    // Without a declared type it is the kept file's own.
    const type = declared ?? made.contentType;
    if (type !== undefined) headers["content-type"] = type;
  } else headers["content-type"] = declared ?? (made.kind === "text" ? "text/plain" : "application/json");
  return made;
}

function baseOf(server: string): URL {
  const unfilled = /\{([^{}]+)\}/.exec(server);
  if (unfilled) {
    throw new RequestRefused(
      `The address of the service has a part {${unfilled[1]}} that nobody chose. An administrator sets baseUrl.`,
    );
  }
  if (!URL.canParse(server)) {
    throw new RequestRefused("The document does not say where the service is. An administrator sets baseUrl.");
  }
  return new URL(server);
}
