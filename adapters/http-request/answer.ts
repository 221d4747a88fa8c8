/** What a service answered -> the result of a tool. The answer's own Content-Type counts, not what was announced. */
import type { JsonObject } from "../contract.ts";
import { isObject, own } from "./json.ts";
import { pageHint } from "./page-hint.ts";
import type { OperationPlan } from "./plan.ts";

/** Characters of text that a model gets. */
const MAX_TEXT = 100_000;
/** Characters of an error's body. */
const MAX_ERROR_TEXT = 8192;
/** Bytes of JSON that are given as `structuredContent` too. */
const MAX_STRUCTURED = 2 * 1024 * 1024;
/** Bytes of an image, a sound or another file inside a result. */
export const MAX_BINARY = 256 * 1024;

type Block = JsonObject & { type: string };

/** @throws what reading the body throws */
export async function answerOf(
  plan: Pick<OperationPlan, "method" | "wrap" | "pick">,
  response: Response,
): Promise<JsonObject> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status } = response;
  const meta = { _meta: { "jackfield/http": { status } } };
  if (status < 200 || status > 299) return { ...failed(response, bytes), ...meta };
  if (bytes.length === 0) return { content: [text(emptyText(plan.method, response))], ...meta };
  const type = mediaType(response);
  const words = decoded(bytes, response, type);
  const value = words === undefined ? undefined : parsedJson(words, type);
  if (value !== undefined) return { ...structured(plan, response, value.json), ...meta };
  if (words !== undefined) {
    const hint = pageHint(response.headers, undefined);
    return { content: [text(cut(words, MAX_TEXT)), ...hint.map(text)], ...meta };
  }
  return { ...binary(bytes, type, response), ...meta };
}

function structured(plan: Pick<OperationPlan, "wrap" | "pick">, response: Response, json: unknown): JsonObject {
  const found = plan.pick === undefined ? { value: json } : at(json, plan.pick);
  const hint = pageHint(response.headers, json).map(text);
  if (found === undefined) {
    const note = text(`The answer has nothing at ${plan.pick}; this is the whole of it.`);
    return { content: [text(cut(JSON.stringify(json), MAX_TEXT)), note, ...hint] };
  }
  const { value } = found;
  const whole = JSON.stringify(value) ?? "null";
  const content = [text(cut(whole, MAX_TEXT)), ...hint];
  if (Buffer.byteLength(whole) > MAX_STRUCTURED) return { content };
  return { content, structuredContent: plan.wrap || !isObject(value) ? { result: value } : value };
}

/** RFC 6901. */
function at(json: unknown, pointer: string): { value: unknown } | undefined {
  let value = json;
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    value = Array.isArray(value) ? value[/^\d+$/.test(key) ? Number(key) : -1] : own(value, key);
    if (value === undefined) return undefined;
  }
  return { value };
}

/** A refusal or failure: status, reason, what to wait for, and the service's own words. */
function failed(response: Response, bytes: Uint8Array): JsonObject {
  const { status, headers } = response;
  const lines = [`The service answered HTTP ${status}${reason(status)}.`];
  const wait = headers.get("retry-after");
  if (wait !== null) lines.push(`Retry-After: ${oneLine(wait)}${/^\d+$/.test(wait.trim()) ? " seconds" : ""}.`);
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== null) {
    lines.push(`It redirects to ${oneLine(location)}, another origin, where this call was not sent.`);
  }
  if (status === 401) lines.push("The credential of this connection was refused: it has to be authorized again.");
  if (status === 403) lines.push("The credential of this connection may not do this.");
  const type = mediaType(response);
  const words = decoded(bytes, response, type);
  if (words !== undefined && words.trim() !== "") {
    lines.push(cut(/html/.test(type) ? withoutMarkup(words) : words.trim(), MAX_ERROR_TEXT));
  } else if (bytes.length > 0) lines.push(`Its body is ${bytes.length} bytes of ${type || "an unnamed type"}.`);
  return { content: [text(lines.join("\n"))], isError: true };
}

function binary(bytes: Uint8Array, type: string, response: Response): JsonObject {
  const named = type || "application/octet-stream";
  if (bytes.length > MAX_BINARY) {
    const limit = `${bytes.length} bytes of ${named}; at most ${MAX_BINARY} bytes of a file are passed on`;
    const words = `The service answered with ${limit}, and this server cannot keep larger ones yet. The call itself succeeded (HTTP ${response.status}).`;
    return { content: [text(words)], isError: true };
  }
  const data = Buffer.from(bytes).toString("base64");
  if (/^image\//.test(named)) return { content: [{ type: "image", data, mimeType: named }] };
  if (/^audio\//.test(named)) return { content: [{ type: "audio", data, mimeType: named }] };
  const uri = `data:${named},${bytes.length}-bytes`;
  return { content: [{ type: "resource", resource: { uri, mimeType: named, blob: data } }] };
}

function emptyText(method: string, response: Response): string {
  const { status, headers } = response;
  const lines = [`Done: HTTP ${status}${reason(status)}, without content.`];
  const told =
    method === "HEAD" ? ["content-type", "content-length", "last-modified", "etag", "location"] : ["location"];
  for (const name of told) {
    const value = headers.get(name);
    if (value !== null) lines.push(`${name}: ${oneLine(value)}`);
  }
  return lines.join("\n");
}

function mediaType(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase();
}

const TEXTUAL =
  /^text\/|[/+](json|xml|yaml|x-yaml|javascript|ecmascript|csv|graphql|x-www-form-urlencoded|x-ndjson|ndjson|jsonl|toml|sql)(-seq)?$/;

/** The body as text; undefined where it is none. Without a type its bytes decide. */
function decoded(bytes: Uint8Array, response: Response, type: string): string | undefined {
  if (type !== "" && !TEXTUAL.test(type)) return undefined;
  const charset = /charset="?([\w.:-]+)/i.exec(response.headers.get("content-type") ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset, { fatal: type === "" }).decode(bytes);
  } catch {
    return type === "" ? undefined : new TextDecoder().decode(bytes);
  }
}

function parsedJson(words: string, type: string): { json: unknown } | undefined {
  const announced = /[/+]json$/.test(type);
  if (!announced && (type !== "" || !/^\s*[[{]/.test(words))) return undefined;
  try {
    return { json: JSON.parse(words) };
  } catch {
    // What is called JSON and is none is passed on as the text it is.
    return undefined;
  }
}

function cut(words: string, most: number): string {
  if (words.length <= most) return words;
  return `${words.slice(0, most).toWellFormed()}\n[cut: the first ${most} of ${words.length} characters]`;
}

/** The text of a page. In linear time, whatever the page holds. */
function withoutMarkup(html: string): string {
  const parts: string[] = [];
  const lower = html.slice(0, 64 * 1024).toLowerCase();
  for (let at = 0; at < lower.length; ) {
    const open = lower.indexOf("<", at);
    parts.push(html.slice(at, open === -1 ? lower.length : open));
    if (open === -1) break;
    const hidden = ["script", "style"].find((name) => lower.startsWith(name, open + 1));
    const inner = hidden === undefined ? open : lower.indexOf(`</${hidden}`, open);
    const close = inner === -1 ? -1 : lower.indexOf(">", inner);
    if (close === -1) break;
    at = close + 1;
  }
  const plain = parts.join(" ").replace(/[^\S\n]+/g, " ");
  return plain.replace(/ ?\n[ \n]*/g, "\n").trim();
}

function oneLine(value: string): string {
  return value
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, 500);
}

const text = (words: string): Block => ({ type: "text", text: words });

/** Reason phrases of statuses that models meet (RFC 9110, 15); HTTP/2 sends none. */
const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  423: "Locked",
  428: "Precondition Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

function reason(status: number): string {
  const words = REASONS[status];
  return words === undefined ? "" : ` ${words}`;
}
