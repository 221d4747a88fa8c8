/** Parts of an agent's messages and artifacts -> content blocks, and assets where they are large. */
import type { Part } from "@a2a-js/sdk";
import type { AdapterContext, CallContext, JsonObject } from "../contract.ts";
import { MAX_SHOWN } from "../kept-file.ts";
import { bounded } from "../mcp/failures.ts";

/** Characters of text that a model gets; the whole of a longer one is kept as a file. */
const MAX_TEXT = 100_000;
const PREVIEW = 4000;
/** Files of one result that are fetched from where the agent says they are. */
const MAX_FETCHED = 8;
/** Blocks of one result. */
const MAX_BLOCKS = 500;

export type Block = JsonObject & { type: string };

interface File {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly type: string;
}

export interface PartReader {
  readonly context: Pick<AdapterContext, "fileFetch" | "log">;
  readonly call: Pick<CallContext, "assets" | "signal">;
}

export const textBlock = (text: string): Block => ({ type: "text", text });

/** One reader per result: it counts what it fetches. */
export function createPartReader({ context, call }: PartReader): (parts: readonly Part[]) => Promise<Block[]> {
  let fetched = 0;
  let blocks = 0;

  const keep = async ({ bytes, name, type }: File): Promise<Block> => {
    try {
      return (await call.assets.put(bytes, { name, type })).resourceLink;
    } catch (error) {
      const why = error instanceof Error ? bounded(error.message) : "";
      return textBlock(`The file ${name} (${bytes.length} bytes) was not kept: ${why}`);
    }
  };

  const fileBlock = async (file: File): Promise<Block> => {
    const { bytes, name, type } = file;
    if (bytes.length > MAX_SHOWN) return keep(file);
    const data = Buffer.from(bytes).toString("base64");
    if (/^image\//.test(type)) return { type: "image", data, mimeType: type };
    if (/^audio\//.test(type)) return { type: "audio", data, mimeType: type };
    const resource = { uri: `agent-file:${encodeURIComponent(name)}`, mimeType: type };
    const text = /^text\/|[/+]json$/.test(type) ? utf8(bytes) : undefined;
    return { type: "resource", resource: text === undefined ? { ...resource, blob: data } : { ...resource, text } };
  };

  const linked = async (url: string, part: Part): Promise<Block[]> => {
    const name = nameOf(part, url);
    const link = {
      type: "resource_link",
      uri: url,
      name,
      ...(part.mediaType === "" ? {} : { mimeType: part.mediaType }),
    };
    if (++fetched > MAX_FETCHED) return [link];
    try {
      const response = await context.fileFetch(url, { signal: call.signal });
      if (!response.ok) return [textBlock(`The file ${name} was not fetched: HTTP ${response.status}.`), link];
      const [served = ""] = (response.headers.get("content-type") ?? "").split(";");
      const type = part.mediaType === "" ? served.trim() : part.mediaType;
      return [await fileBlock({ bytes: new Uint8Array(await response.arrayBuffer()), name, type: typeOf(type) })];
    } catch (error) {
      if (call.signal.aborted) throw error;
      context.log.info({ reason: String(error) }, "a file that an agent names was not fetched");
      return [textBlock(`The file ${name} was not fetched from where the agent says it is.`), link];
    }
  };

  const textBlocks = async (text: string): Promise<Block[]> => {
    if (text === "") return [];
    if (text.length <= MAX_TEXT) return [textBlock(text)];
    const start = `${text.slice(0, PREVIEW).toWellFormed()}\n[the first ${PREVIEW} of ${text.length} characters]`;
    return [textBlock(start), await keep({ bytes: Buffer.from(text, "utf8"), name: "text.txt", type: "text/plain" })];
  };

  const blocksOf = async (part: Part): Promise<Block[]> => {
    switch (part.content?.$case) {
      case "text":
        return textBlocks(part.content.value);
      case "data":
        return textBlocks(JSON.stringify(part.content.value) ?? "null");
      case "raw":
        return [await fileBlock({ bytes: part.content.value, name: nameOf(part, ""), type: typeOf(part.mediaType) })];
      case "url":
        return linked(part.content.value, part);
      default:
        return [];
    }
  };

  return async (parts) => {
    const result: Block[] = [];
    for (const part of joined(parts)) {
      if (blocks >= MAX_BLOCKS) break;
      const more = await blocksOf(part);
      blocks += more.length;
      result.push(...more);
    }
    return result;
  };
}

/** The values of data parts, for `structuredContent`. */
export function dataOf(parts: readonly Part[]): unknown[] {
  return parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value] : []));
}

/** Artifacts may come in pieces: what belongs together is one text, or one file. */
function joined(parts: readonly Part[]): Part[] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group !== undefined && last !== undefined && belongs(last, part)) group.push(part);
    else groups.push([part]);
  }
  return groups.flatMap((group) => {
    const [first] = group;
    if (first === undefined || group.length === 1) return group;
    const texts = group.flatMap(({ content }) => (content?.$case === "text" ? [content.value] : []));
    if (texts.length > 0) return [{ ...first, content: { $case: "text" as const, value: texts.join("") } }];
    const bytes = group.flatMap(({ content }) => (content?.$case === "raw" ? [content.value] : []));
    return [{ ...first, content: { $case: "raw" as const, value: Buffer.concat(bytes) } }];
  });
}

function belongs(a: Part, b: Part): boolean {
  const kind = a.content?.$case;
  if (kind !== b.content?.$case || (kind !== "text" && kind !== "raw")) return false;
  // Two files without names are two files.
  if (kind === "raw" && a.filename === "") return false;
  return a.filename === b.filename && a.mediaType === b.mediaType;
}

function nameOf({ filename }: Part, url: string): string {
  if (filename !== "") return bounded(filename).slice(0, 200);
  const last = URL.canParse(url) ? (new URL(url).pathname.split("/").at(-1) ?? "") : "";
  return last === "" ? "file" : bounded(last).slice(0, 200);
}

function typeOf(type: string): string {
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.toLowerCase() : "application/octet-stream";
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
