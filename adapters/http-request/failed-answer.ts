/** A refusal or failure of a service as the result of a tool. */
import type { JsonObject } from "../contract.ts";
import { beginningOf, decoded, mediaType } from "./answer-body.ts";

/** Characters of an error's body that are passed on, and bytes of it that are looked at. */
const MAX_TEXT = 8192;
const MAX_BYTES = 256 * 1024;

/** Status, reason, what to wait for, and the service's own words. @throws what reading the body throws */
export async function failedAnswer(response: Response): Promise<JsonObject> {
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
  const { bytes, more } = await beginningOf(response, MAX_BYTES);
  const type = mediaType(response);
  const words = looksLikeText(type, bytes) ? decoded(bytes, response) : undefined;
  const size = more ? (headers.get("content-length") ?? `more than ${bytes.length}`) : String(bytes.length);
  if (words !== undefined && words.trim() !== "") {
    lines.push(cut(/html/.test(type) ? withoutMarkup(words) : words.trim(), more ? size : undefined));
  } else if (bytes.length > 0) lines.push(`Its body is ${oneLine(size)} bytes of ${type || "an unnamed type"}.`);
  return { content: [{ type: "text", text: lines.join("\n") }], isError: true };
}

function looksLikeText(type: string, bytes: Uint8Array): boolean {
  if (/^(?:image|audio|video|font)\//.test(type)) return false;
  return type !== "application/octet-stream" && !bytes.subarray(0, 1024).includes(0);
}

/** @param bytes how long the whole body is, where not all of it was read */
function cut(words: string, bytes: string | undefined): string {
  if (words.length <= MAX_TEXT && bytes === undefined) return words;
  const whole = bytes === undefined ? `${words.length} characters` : `${oneLine(bytes)} bytes`;
  const shown = words.slice(0, MAX_TEXT).toWellFormed();
  return `${shown}\n[cut: the first ${shown.length} characters of ${whole}]`;
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

/** A value of a stranger in one line. */
export function oneLine(value: string): string {
  return value
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, 500);
}

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

/** The reason phrase of a status with a blank before it; empty for a status that has none. */
export function reason(status: number): string {
  const words = REASONS[status];
  return words === undefined ? "" : ` ${words}`;
}
