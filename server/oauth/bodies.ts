/** Request bodies that were read and changed before the library sees them. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { JackfieldError } from "../errors.ts";

/** Registrations and token requests are small; more is refused unread. */
export const MAX_FORM_BYTES = 16 * 1024;

/** Reads a whole body. Throws `body_too_large`. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const tooLarge = () => new JackfieldError("body_too_large", { text: "The request body is larger than 16 KiB." });
  if (Number(request.headers["content-length"] ?? 0) > MAX_FORM_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_FORM_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The same request with another body and other headers. The library reads bodies from the stream, or else from a
 * `body` property with a warning on the console, which would not be a line of our log.
 */
export function withBody(
  request: IncomingMessage & { readonly ip?: string | undefined },
  body: string,
  headers: Readonly<Record<string, string | undefined>>,
): IncomingMessage {
  const merged = { ...request.headers, ...headers, "content-length": String(Buffer.byteLength(body)) };
  delete merged["transfer-encoding"];
  const stream: Readable = Readable.from([Buffer.from(body)], { objectMode: false });
  const { method, url, socket, ip, httpVersion, httpVersionMajor, httpVersionMinor } = request;
  const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
  const parts = { method, url, socket, ip, httpVersion, httpVersionMajor, httpVersionMinor, headers: kept };
  Object.assign(stream, parts, { complete: true });
  return stream as IncomingMessage;
}
