/** What a piece returned or threw -> the result of a tool. */
import type { JsonObject, KeptAsset } from "../contract.ts";
import { isObject } from "../http-request/json.ts";
import type { PieceErrorWords } from "./host.ts";

/** Characters of text that a model gets. */
const MAX_TEXT = 100_000;
/** Bytes of JSON that are given as `structuredContent` too. */
const MAX_STRUCTURED = 2 * 1024 * 1024;

/** Text goes as it is; everything else as JSON, an object as `structuredContent` as well. */
export function doneResult(value: unknown, links: readonly KeptAsset["resourceLink"][]): JsonObject {
  if (value === null || value === undefined || value === "") {
    const content = links.length > 0 ? links : [{ type: "text", text: "Done; the action returns nothing." }];
    return { content: [...content] };
  }
  if (typeof value === "string") return { content: [{ type: "text", text: cut(value) }, ...links] };
  const whole = JSON.stringify(value);
  const content = [{ type: "text", text: cut(whole) }, ...links];
  if (Buffer.byteLength(whole) > MAX_STRUCTURED) return { content };
  return { content, structuredContent: isObject(value) ? value : { result: value } };
}

/** The piece's own words; what a status means for the credential is said beside them. */
export function failedResult({ name, code, message, httpStatus }: PieceErrorWords): JsonObject {
  const lines = [
    httpStatus === undefined ? "The action failed." : `The action failed: the service answered HTTP ${httpStatus}.`,
  ];
  if (httpStatus === 401) lines.push("The credential of this connection was refused: it has to be authorized again.");
  if (httpStatus === 403) lines.push("The credential of this connection may not do this.");
  const kind = name === "" || name === "Error" || message.startsWith(name) ? "" : `${name}: `;
  lines.push(`${kind}${message}${code === undefined || message.includes(code) ? "" : ` (${code})`}`);
  return {
    content: [{ type: "text", text: lines.join("\n") }],
    isError: true,
    ...(httpStatus === undefined ? {} : { _meta: { "jackfield/http": { status: httpStatus } } }),
  };
}

/** Nothing was sent to the service; the text says what to do. */
export function notSent(text: string): JsonObject {
  return { content: [{ type: "text", text: `Not sent: ${text}` }], isError: true };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${text.length - MAX_TEXT} more characters)`;
}
