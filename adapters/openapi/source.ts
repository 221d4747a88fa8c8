/** The bytes of a connection's document. */
import { open } from "node:fs/promises";
import { type AdapterContext, UpstreamError } from "../contract.ts";
import { readBody } from "../http-request/answer-body.ts";
import { failureOf } from "../http-request/call.ts";
import type { Source } from "./config.ts";
import { MAX_DOCUMENT } from "./reader.ts";

const FETCH_MS = 60_000;
/** Bytes that are read at once. */
const CHUNK = 1024 * 1024;

/** What reading it needs; nothing of it carries a credential. */
export type SourceContext = Pick<AdapterContext, "fetch" | "hop" | "signal"> &
  Partial<Pick<AdapterContext, "identity" | "fetchStream">>;

/** @throws UpstreamError with words for the administrator */
export async function documentBytes(context: SourceContext, source: Source): Promise<Uint8Array> {
  switch (source.kind) {
    case "text":
      return new TextEncoder().encode(source.text);
    case "file":
      return fileBytes(source.path);
    case "url":
      return fetchedBytes(context, source.url);
  }
}

async function fileBytes(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    if (size > MAX_DOCUMENT) throw unreadable(`The document is larger than ${MAX_DOCUMENT / 1024 / 1024} MiB.`);
    const bytes = new Uint8Array(size);
    let at = 0;
    while (at < size) {
      const { bytesRead } = await file.read(bytes, at, Math.min(CHUNK, size - at));
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return at === size ? bytes : bytes.slice(0, at);
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    const code = error instanceof Error ? Reflect.get(error, "code") : undefined;
    throw unreadable(`The file of the document cannot be read (${String(code ?? "unknown")}).`, error);
  }
}

/** Without a credential: that is for the service, and the document may be anywhere. */
async function fetchedBytes(context: SourceContext, url: string): Promise<Uint8Array> {
  const headers = {
    accept: "application/json, application/yaml, text/yaml, application/vnd.oai.openapi, */*;q=0.5",
    ...(context.identity && { "user-agent": `${context.identity.name}/${context.identity.version}` }),
    [context.hop.header]: context.hop.value,
  };
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(FETCH_MS)]);
  try {
    const response = await (context.fetchStream ?? context.fetch)(url, { headers, signal });
    if (!response.ok) {
      await response.body?.cancel();
      throw unreadable(`The document cannot be fetched: its address answers HTTP ${response.status}.`);
    }
    const body = await readBody(response, MAX_DOCUMENT);
    if (body.kind === "bytes") return body.bytes;
    await body.stream.cancel();
    throw unreadable(`The document is larger than ${MAX_DOCUMENT / 1024 / 1024} MiB.`);
  } catch (error) {
    throw failureOf(error);
  }
}

function unreadable(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError("upstream_protocol", message, {
    processed: "no",
    ...(cause === undefined ? {} : { cause }),
  });
}
