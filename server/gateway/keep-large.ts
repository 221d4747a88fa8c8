/**
 * What of a result is too large for a model's context is kept as a file, and told by its handle: pictures, sounds and
 * embedded files, and long text, of which the beginning stays. Whatever the adapter, whatever the service.
 */
import type { Assets, JsonObject, KeptAsset, Log } from "../../adapters/contract.ts";
import { keptFileWords, MAX_SHOWN } from "../../adapters/kept-file.ts";
import { JackfieldError } from "../errors.ts";
import type { GatewayCaller } from "./caller.ts";
import type { ToolEntry } from "./toolset.ts";

/** Decoded bytes of a file, other than a picture or a sound, that stay where they are. */
const MAX_BLOB = 16 * 1024;
/** Bytes of all text of a result, and of the beginning of one that is longer. */
export const MAX_TEXT = 100_000;
export const PREVIEW = 40_000;
/** Files of one result; what comes after is left out. */
const MAX_KEPT = 20;

const KEPT = "jackfield/kept";
export const KEPT_STRUCTURE =
  "structuredContent was larger than the proxy passes on; the text says where the whole of it is kept.";

export interface Keeping {
  readonly entry: Pick<ToolEntry, "connection">;
  readonly assets: Pick<Assets, "put">;
  readonly caller: Pick<GatewayCaller, "toolset" | "endpoint">;
  readonly log: Log;
}

/** Whether the structured content of a result was taken out of it. */
export function isKept(result: JsonObject): boolean {
  const meta = result["_meta"];
  return isObject(meta) && meta[KEPT] === "structuredContent";
}

/** Never rejects: what cannot be kept is left out, and the result says so. */
export async function keepLarge(result: JsonObject, keeping: Keeping): Promise<JsonObject> {
  const { entry, caller } = keeping;
  const { transparent } = caller.toolset;
  // An MCP server behind a transparent endpoint is shown as it is.
  if (transparent && entry.connection.type === "mcp") return result;
  const strict = transparent || caller.endpoint.config.outputSchema === "list";
  const room = { text: MAX_TEXT, kept: 0 };
  const blocks = Array.isArray(result["content"]) ? result["content"] : [];
  const content: unknown[] = [];
  for (const block of blocks) content.push(...(isObject(block) ? await smaller(block, room, keeping) : [block]));
  const { structuredContent, ...rest } = result;
  const whole = structuredContent === undefined ? "" : JSON.stringify(structuredContent);
  // Clients that were shown an output schema throw away a result without it.
  if (strict || Buffer.byteLength(whole) <= MAX_TEXT) {
    if (content.length === blocks.length && content.every((block, index) => block === blocks[index])) return result;
    return { ...result, content };
  }
  if (!blocks.some((block) => isObject(block) && typeof block["text"] === "string")) {
    content.push(...(await smallerText(whole, "application/json", room, keeping)));
  }
  const meta = isObject(rest["_meta"]) ? rest["_meta"] : {};
  return { ...rest, content, _meta: { ...meta, [KEPT]: "structuredContent" } };
}

interface Room {
  /** Bytes of text that may still be passed on. */
  text: number;
  /** Files that were kept. */
  kept: number;
}

async function smaller(block: JsonObject, room: Room, keeping: Keeping): Promise<JsonObject[]> {
  const { type, data, mimeType, resource } = block;
  if (type === "text" && typeof block["text"] === "string") {
    const made = await smallerText(block["text"], "text/plain", room, keeping);
    const [first, ...others] = made;
    return [{ ...block, ...first }, ...others];
  }
  if ((type === "image" || type === "audio") && typeof data === "string") {
    if (decodedSize(data) <= MAX_SHOWN) return [block];
    return keptFile(Buffer.from(data, "base64"), { type: textOf(mimeType), name: type }, room, keeping);
  }
  if (type !== "resource" || !isObject(resource)) return [block];
  const { blob, text, uri } = resource;
  const about = { type: textOf(resource["mimeType"]), name: lastPart(uri) };
  if (typeof blob === "string" && decodedSize(blob) > MAX_BLOB) {
    return keptFile(Buffer.from(blob, "base64"), about, room, keeping);
  }
  if (typeof text !== "string") return [block];
  const size = Buffer.byteLength(text);
  if (size > room.text) return smallerText(text, about.type ?? "text/plain", room, keeping, about.name);
  room.text -= size;
  return [block];
}

async function smallerText(
  text: string,
  type: string,
  room: Room,
  keeping: Keeping,
  name?: string,
): Promise<JsonObject[]> {
  const bytes = Buffer.from(text);
  if (bytes.length <= room.text) {
    room.text -= bytes.length;
    return [{ type: "text", text }];
  }
  const shown = wholeCharacters(bytes.subarray(0, Math.min(PREVIEW, room.text)));
  room.text -= shown.length;
  const beginning = `[The first ${shown.length} of ${bytes.length} bytes.`;
  const preview = shown.toString("utf8");
  const kept = await keep(bytes, { type, name: name ?? "result.txt" }, room, keeping);
  if (typeof kept === "string") return [{ type: "text", text: `${preview}\n${beginning} ${kept}]` }];
  const more = `The whole text is kept until ${new Date(kept.expiresAt).toISOString()} as ${kept.handle}. ${readOn(kept.handle, shown.length, keeping)}]`;
  return [{ type: "text", text: `${preview}\n${beginning} ${more}` }, kept.resourceLink];
}

/** The one way of reading on that a model has at this endpoint, whatever its client does. */
function readOn(handle: string, offset: number, { caller }: Keeping): string {
  if (caller.endpoint.config.assets === "pass") return "It cannot be read here, only given to tools that take a file.";
  if (caller.toolset.transparent) return `Read on: resources/read with the uri ${handle}?offset=${offset}.`;
  const args = JSON.stringify({ name: handle, arguments: { offset } });
  return `Read on: tool_read ${args}.`;
}

async function keptFile(
  bytes: Buffer,
  about: { type: string | undefined; name: string | undefined },
  room: Room,
  keeping: Keeping,
): Promise<JsonObject[]> {
  const kept = await keep(bytes, about, room, keeping);
  if (typeof kept !== "string") return [{ type: "text", text: keptFileWords(kept) }, kept.resourceLink];
  return [{ type: "text", text: `[A file of ${about.type ?? "an unnamed type"}, ${bytes.length} bytes. ${kept}]` }];
}

/** @returns the file, or why it is not there */
async function keep(
  bytes: Uint8Array,
  about: { type: string | undefined; name: string | undefined },
  room: Room,
  { assets, log, entry }: Keeping,
): Promise<KeptAsset | string> {
  room.kept += 1;
  if (room.kept > MAX_KEPT) return `It was left out: of one result at most ${MAX_KEPT} files are kept.`;
  try {
    return await assets.put(bytes, about);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ connection: entry.connection.slug, reason }, "a part of a result could not be kept");
    return `The rest is lost: ${error instanceof JackfieldError ? error.message : "it could not be kept."}`;
  }
}

/** Without the beginning of a character at the end (RFC 3629, 3). */
export function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

const decodedSize = (base64: string): number => Math.floor(base64.length * 0.75);
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function lastPart(uri: unknown): string | undefined {
  return typeof uri === "string" ? (uri.split(/[?#]/)[0] ?? "").split("/").pop() : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
