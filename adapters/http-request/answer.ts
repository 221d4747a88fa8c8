/** What a service answered -> the result of a tool. The answer's own Content-Type counts, not what was announced. */
import type { JsonObject } from "../contract.ts";
import { isTextType } from "../media-types.ts";
import { type AnswerBody, decoded, mediaType, readBody } from "./answer-body.ts";
import { failedAnswer, oneLine, reason } from "./failed-answer.ts";
import { type AnswerPlace, fileAnswer } from "./file-answer.ts";
import { isObject, own } from "./json.ts";
import { pageHint } from "./page-hint.ts";
import type { OperationPlan } from "./plan.ts";

/** Bytes of text that are read into memory; more becomes a kept file. */
const MAX_TEXT = 16 * 1024 * 1024;

/** @throws what reading the body throws */
export async function answerOf(
  plan: Pick<OperationPlan, "method" | "wrap" | "pick">,
  response: Response,
  place: AnswerPlace,
): Promise<JsonObject> {
  const { status } = response;
  const meta = { _meta: { "jackfield/http": { status } } };
  if (status < 200 || status > 299) return { ...(await failedAnswer(response)), ...meta };
  const type = mediaType(response);
  const textual = type === "" || isTextType(type);
  const body: AnswerBody = textual
    ? await readBody(response, MAX_TEXT)
    : { kind: "stream", stream: response.body ?? new Blob([]).stream() };
  if (body.kind === "stream") return { ...(await fileAnswer(response, body.stream, place)), ...meta };
  const { bytes } = body;
  if (bytes.length === 0) return { content: [text(emptyText(plan.method, response))], ...meta };
  const words = decoded(bytes, response);
  if (words === undefined) return { ...(await fileAnswer(response, new Blob([bytes]).stream(), place)), ...meta };
  const value = parsedJson(words, type);
  if (value !== undefined) return { ...structured(plan, response, value.json), ...meta };
  return { content: [text(words), ...pageHint(response.headers, undefined).map(text)], ...meta };
}

function structured(plan: Pick<OperationPlan, "wrap" | "pick">, response: Response, json: unknown): JsonObject {
  const found = plan.pick === undefined ? { value: json } : at(json, plan.pick);
  const hint = pageHint(response.headers, json).map(text);
  if (found === undefined) {
    const note = text(`The answer has nothing at ${plan.pick}; this is the whole of it.`);
    return { content: [text(JSON.stringify(json)), note, ...hint] };
  }
  const { value } = found;
  const content = [text(JSON.stringify(value) ?? "null"), ...hint];
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

const text = (words: string) => ({ type: "text", text: words });
