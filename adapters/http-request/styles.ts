/**
 * Parameter values as they go over the wire (OpenAPI 3.2, 4.12.6; RFC 6570). Each value is percent-encoded, delimiters
 * are not. Null counts as absent; false, 0 and the empty text are values.
 */
import { isObject } from "./json.ts";
import type { DeepLists, ParameterPlan, Style } from "./plan.ts";

/** Arguments of which no request can be made; the message is for the caller. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
}

const DELIMITERS: Partial<Record<Style, string>> = {
  spaceDelimited: "%20",
  pipeDelimited: "%7C",
  tabDelimited: "%09",
};

/** Nesting of a deepObject that is followed. */
const DEEPEST = 8;

/** A single value as text: objects and lists as JSON. */
export function textOfValue(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** Percent-encodes all but unreserved characters (RFC 3986, 2.3). */
export function encode(text: string, reserved = false): string {
  const encoded = encodeURIComponent(text.toWellFormed());
  if (!reserved) return encoded;
  // Of the reserved characters those stay encoded that would end the value.
  return encoded.replace(/%(3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B)/gi, (code) => decodeURIComponent(code));
}

/** `name=value` parts of a query string, already encoded. */
export function queryParts(parameter: ParameterPlan, value: unknown, lists: DeepLists): string[] {
  const { style, explode, reserved, json } = parameter;
  const code = (item: unknown) => encode(textOfValue(item), reserved);
  const name = encode(parameter.name);
  if (value === null || value === undefined) return [];
  if (json) return [`${name}=${encode(JSON.stringify(value), reserved)}`];
  const delimiter = DELIMITERS[style] ?? ",";
  if (Array.isArray(value)) {
    const items = value.filter((item) => item !== null && item !== undefined);
    if (items.length === 0) return [];
    if (style === "deepObject") return deepParts(name, items, lists, code, 0);
    return explode ? items.map((item) => `${name}=${code(item)}`) : [`${name}=${items.map(code).join(delimiter)}`];
  }
  if (!isObject(value)) return [`${name}=${code(value)}`];
  if (style === "deepObject") return deepParts(name, value, lists, code, 0);
  const entries = present(value);
  if (entries.length === 0) return [];
  if (!explode) return [`${name}=${entries.flatMap(([key, item]) => [encode(key), code(item)]).join(delimiter)}`];
  return entries.flatMap(([key, item]) =>
    (Array.isArray(item) ? item : [item]).map((each) => `${encode(key)}=${code(each)}`),
  );
}

function deepParts(
  name: string,
  value: unknown,
  lists: DeepLists,
  code: (item: unknown) => string,
  depth: number,
): string[] {
  if (value === null || value === undefined) return [];
  if (depth > DEEPEST) return [`${name}=${code(value)}`];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      const suffix = lists === "repeat" ? "" : lists === "brackets" ? "%5B%5D" : `%5B${index}%5D`;
      return deepParts(name + suffix, item, lists, code, depth + 1);
    });
  }
  if (!isObject(value)) return [`${name}=${code(value)}`];
  return Object.entries(value).flatMap(([key, item]) =>
    deepParts(`${name}%5B${encode(key)}%5D`, item, lists, code, depth + 1),
  );
}

/**
 * What replaces `{name}` in a path.
 * @throws RequestRefused for what would make it another path: dot segments (WHATWG URL collapses them even encoded,
 *   so encoding is no cure) and nothing at all
 */
export function pathText(parameter: ParameterPlan, value: unknown): string {
  const { name, style, explode } = parameter;
  if (value === null || value === undefined || value === "") {
    throw new RequestRefused(`${parameter.arg} is part of the path and must not be empty.`);
  }
  if (parameter.json) return encode(JSON.stringify(value));
  for (const item of Array.isArray(value) ? value : [value]) refuseDots(parameter, textOfValue(item));
  const code = (item: unknown) => encode(textOfValue(item));
  const prefix = style === "label" ? "." : style === "matrix" ? ";" : "";
  const between = explode && prefix !== "" ? prefix : ",";
  if (Array.isArray(value)) {
    if (value.length === 0) throw new RequestRefused(`${parameter.arg} is part of the path and must not be empty.`);
    if (style !== "matrix") return prefix + value.map(code).join(between);
    if (!explode) return `;${encode(name)}=${value.map(code).join(",")}`;
    return value.map((item) => `;${encode(name)}=${code(item)}`).join("");
  }
  if (isObject(value)) {
    const entries = present(value);
    if (explode) return prefix + entries.map(([key, item]) => `${encode(key)}=${code(item)}`).join(between);
    const flat = entries.flatMap(([key, item]) => [encode(key), code(item)]).join(",");
    return style === "matrix" ? `;${encode(name)}=${flat}` : prefix + flat;
  }
  return style === "matrix" ? `;${encode(name)}=${code(value)}` : prefix + code(value);
}

function refuseDots(parameter: ParameterPlan, text: string): void {
  if (/^(?:\.|%2e){1,2}$/i.test(text)) {
    throw new RequestRefused(`${parameter.arg} must not be "${text}": it would lead to another path.`);
  }
}

/** The value of a header, not encoded. @throws RequestRefused for line ends and what no header can carry */
export function headerText(parameter: ParameterPlan, value: unknown): string {
  const text = parameter.json ? JSON.stringify(value) : simpleText(value, parameter.explode);
  // RFC 9110, 5.5: no control characters but the tab.
  if (/\p{Cc}/u.test(text.replaceAll("\t", ""))) {
    throw new RequestRefused(`${parameter.arg} goes into a header and must not hold line ends or control characters.`);
  }
  if ([...text].some((character) => character > "\u00ff")) {
    throw new RequestRefused(`${parameter.arg} goes into a header and must not hold characters beyond Latin-1.`);
  }
  return text;
}

function simpleText(value: unknown, explode: boolean): string {
  if (Array.isArray(value)) return value.map(textOfValue).join(",");
  if (!isObject(value)) return textOfValue(value);
  const entries = present(value);
  if (explode) return entries.map(([key, item]) => `${key}=${textOfValue(item)}`).join(",");
  return entries.flatMap(([key, item]) => [key, textOfValue(item)]).join(",");
}

/** `name=value` parts of a Cookie header. */
export function cookieParts(parameter: ParameterPlan, value: unknown): string[] {
  if (parameter.style !== "cookie") return queryParts(parameter, value, "repeat");
  // OpenAPI 3.2: this style does no percent-encoding, so what would end the value cannot be sent.
  const text = headerText(parameter, value);
  if (text.includes(";"))
    throw new RequestRefused(`${parameter.arg} goes into a cookie and must not hold a semicolon.`);
  return [`${parameter.name}=${text}`];
}

function present(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
}
