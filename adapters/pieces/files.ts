/**
 * Files of a call: an argument names one by URL, inline or by the handle of a kept file, and the piece gets its bytes;
 * bytes that the piece wrote are kept for the caller, who gets a handle.
 */
import {
  type AdapterContext,
  type CallContext,
  isAssetHandle,
  type JsonObject,
  type KeptAsset,
  UpstreamError,
} from "../contract.ts";
import { arrayOf, isObject, own, textOf } from "../http-request/json.ts";
import { member } from "../network.ts";
import type { Prop } from "./description.ts";
import type { FileIn, FileOut } from "./host.ts";

/** Bytes of all files of one call. */
export const MOST_FILE_BYTES = 10 * 1024 * 1024;

/** An argument names no file that can be had; nothing was sent to the service. The text is for the caller. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

/**
 * The arguments with a place holder for each file, and the files.
 * @throws FileProblem; UpstreamError `blocked_address` where a URL leads to where it may not
 */
export async function loadFiles(
  context: Pick<AdapterContext, "fileFetch" | "identity">,
  call: Pick<CallContext, "assets" | "signal">,
  props: readonly Prop[],
  args: JsonObject,
): Promise<{ args: JsonObject; files: FileIn[] }> {
  const files: FileIn[] = [];
  let left = MOST_FILE_BYTES;
  const load = async (argument: string, value: unknown): Promise<JsonObject> => {
    const file = await fileOf(context, call, argument, value, left);
    left -= file.data.byteLength;
    files.push(file);
    return { "sandbox:file": files.length - 1 };
  };
  const walk = async (known: readonly Prop[], given: JsonObject): Promise<JsonObject> => {
    const made: JsonObject = { ...given };
    for (const prop of known) {
      const value = own(given, prop.name);
      if (value === undefined) continue;
      if (prop.type === "FILE") made[prop.name] = await load(prop.name, value);
      else if (prop.type === "ARRAY" && prop.properties.length > 0) {
        const items: unknown[] = [];
        for (const item of arrayOf(value)) items.push(isObject(item) ? await walk(prop.properties, item) : item);
        made[prop.name] = items;
      }
    }
    return made;
  };
  return { args: await walk(props, args), files };
}

async function fileOf(
  context: Pick<AdapterContext, "fileFetch" | "identity">,
  { assets, signal }: Pick<CallContext, "assets" | "signal">,
  argument: string,
  value: unknown,
  most: number,
): Promise<FileIn> {
  const given = isObject(value) ? value : {};
  const filename = textOf(given["filename"]);
  const url = textOf(given["url"]);
  const base64 = textOf(given["base64"]);
  const asset = textOf(given["asset"]);
  if ([url, base64, asset].filter((way) => way !== undefined).length !== 1) {
    throw new FileProblem(`${argument} is a file: give exactly one of url, base64 and asset.`);
  }
  if (base64 !== undefined) {
    const data = new Uint8Array(Buffer.from(base64, "base64"));
    if (data.byteLength > most) throw tooLarge(argument);
    return { name: cleanName(filename ?? "file"), data };
  }
  if (asset !== undefined) {
    if (!isAssetHandle(asset)) throw new FileProblem(`${argument}.asset is not a handle of a kept file.`);
    const kept = await assets.read(asset);
    if (kept.size > most) throw tooLarge(argument);
    return { name: cleanName(filename ?? kept.name), data: await readAll(kept.stream(), most, argument) };
  }
  return download(context, signal, argument, { url: url ?? "", filename, most });
}

async function download(
  { fileFetch, identity }: Pick<AdapterContext, "fileFetch" | "identity">,
  signal: AbortSignal,
  argument: string,
  { url, filename, most }: { url: string; filename: string | undefined; most: number },
): Promise<FileIn> {
  if (!URL.canParse(url)) throw new FileProblem(`${argument}.url is not a URL.`);
  let response: Response;
  try {
    response = await fileFetch(url, { signal, headers: { "user-agent": `${identity.name}/${identity.version}` } });
    if (!response.ok) {
      await response.body?.cancel();
      throw new FileProblem(`${argument}.url answered HTTP ${response.status}.`);
    }
    const data = new Uint8Array(await response.arrayBuffer());
    if (data.byteLength > most) throw tooLarge(argument);
    const last = new URL(response.url || url).pathname.split("/").at(-1);
    return { name: cleanName(filename ?? (last || "file")), data };
  } catch (error) {
    if (error instanceof FileProblem || signal.aborted) throw error;
    if (member(error, "code") === "blocked_address") {
      const text = `${argument}.url leads to an address that files may not come from.`;
      throw new UpstreamError("blocked_address", text, { processed: "no", cause: error });
    }
    if (member(error, "code") === "result_too_large") throw tooLarge(argument);
    throw new FileProblem(`${argument}.url could not be fetched.`, { cause: error });
  }
}

async function readAll(stream: ReadableStream<Uint8Array>, most: number, argument: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.byteLength;
    if (bytes > most) throw tooLarge(argument);
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function tooLarge(argument: string): FileProblem {
  return new FileProblem(`${argument}: the files of one call may have ${MOST_FILE_BYTES} bytes together.`);
}

/** A name without folders and control characters, for the code that gets it. */
function cleanName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const clean = last.replace(/\p{C}/gu, "").slice(0, 200);
  return clean === "" || clean === "." || clean === ".." ? "file" : clean;
}

/**
 * A result with the handles of kept files where the piece put files, and the links to them.
 * @throws what keeping them throws (`asset_...`)
 */
export async function keepFiles(
  { assets }: Pick<CallContext, "assets">,
  result: unknown,
  files: readonly FileOut[],
): Promise<{ result: unknown; links: KeptAsset["resourceLink"][] }> {
  const kept: KeptAsset[] = [];
  for (const { name, data } of files) kept.push(await assets.put(data, { name }));
  const put = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") {
      const index = /^sandbox:file:(\d{1,4})$/.exec(value)?.[1];
      return index === undefined ? value : (kept[Number(index)]?.handle ?? value);
    }
    if (typeof value !== "object" || value === null || depth > 64) return value;
    if (Array.isArray(value)) return value.map((item: unknown) => put(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, put(item, depth + 1)]));
  };
  return { result: put(result, 0), links: kept.map(({ resourceLink }) => resourceLink) };
}
