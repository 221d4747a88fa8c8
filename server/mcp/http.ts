/** Reading a stranger's request and answering it when it never becomes a call. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ERRORS, type ErrorCode, JackfieldError } from "../errors.ts";

export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Levels of nested arrays and objects; deeper input costs more than it can mean. */
const MAX_DEPTH = 200;

/**
 * Reads and parses the JSON body of a POST.
 * @param limit bytes that it may have
 * @throws JackfieldError `content_type`, `body_too_large`, `parse_error`, `body_too_deep`
 */
export async function readJson(request: IncomingMessage, limit = MAX_BODY_BYTES): Promise<unknown> {
  const tooLarge = () =>
    limit === MAX_BODY_BYTES
      ? new JackfieldError("body_too_large")
      : new JackfieldError("body_too_large", { text: `The request body is larger than ${limit} bytes.` });
  const type = (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new JackfieldError("content_type");
  const chunks: Buffer[] = [];
  let size = 0;
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge();
  for await (const chunk of request) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  let text: string;
  let body: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new JackfieldError("parse_error", { text: "The request body is not UTF-8." });
  }
  if (deeperThan(text, MAX_DEPTH)) throw new JackfieldError("body_too_deep");
  try {
    body = JSON.parse(text);
  } catch {
    throw new JackfieldError("parse_error");
  }
  return body;
}

/** Counts brackets outside strings, before anything recursive sees the text. */
function deeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

/** The id of a JSON-RPC request, to be echoed on its error; null where there is none to trust. */
export function requestId(body: unknown): string | number | null {
  if (typeof body !== "object" || body === null || !("method" in body) || !("id" in body)) return null;
  return typeof body.id === "string" || typeof body.id === "number" ? body.id : null;
}

/** Ends the request with the error's status and, as MCP wants it, a JSON-RPC error. */
export function refuse(
  response: ServerResponse,
  code: ErrorCode,
  more: { id?: string | number | null; headers?: Record<string, string>; text?: string } = {},
): void {
  const entry: { status: number; rpc?: number; text: string } = ERRORS[code];
  const error = { code: entry.rpc ?? -32603, message: more.text ?? entry.text };
  const body = JSON.stringify({ jsonrpc: "2.0", error, id: more.id ?? null });
  // A body that was refused unread must not be read as the next request.
  const unread = response.req.complete ? {} : { connection: "close" };
  response.writeHead(entry.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...unread,
    ...more.headers,
  });
  response.end(body);
}
