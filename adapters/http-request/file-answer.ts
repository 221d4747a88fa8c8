/** An answer that is a file: it is kept, and the model gets its handle. */
import type { Assets, JsonObject, KeptAsset } from "../contract.ts";
import { isAssetError, keptFileWords, MAX_SHOWN } from "../kept-file.ts";
import { chain } from "../network.ts";
import { mediaType } from "./answer-body.ts";

export interface AnswerPlace {
  /** Where files of the answer are kept. */
  readonly assets: Pick<Assets, "put">;
  /** Of the request; its last part may name a file. */
  readonly url: string;
}

/** @throws what reading the body throws; where only the keeping fails, the result says so */
export async function fileAnswer(
  response: Response,
  stream: ReadableStream<Uint8Array>,
  { assets, url }: AnswerPlace,
): Promise<JsonObject> {
  const type = mediaType(response) || "application/octet-stream";
  const shown = /^(image|audio)\//.exec(type)?.[1];
  const seen: Uint8Array[] = [];
  let bytes = 0;
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      bytes += chunk.byteLength;
      if (shown !== undefined && bytes <= MAX_SHOWN) seen.push(chunk);
      yield chunk;
    }
  }
  const name = fileName(response.headers.get("content-disposition"), url);
  let kept: KeptAsset;
  try {
    kept = await assets.put(ReadableStream.from(watched()), { name, type });
  } catch (error) {
    const own = [...chain(error)].find(isAssetError);
    if (own === undefined) throw error;
    const words = `The service answered with a file of ${type}, which could not be kept: ${own.message} The call itself succeeded (HTTP ${response.status}).`;
    return { content: [text(words)], isError: true };
  }
  if (kept.size === 0) return { content: [text(`Done: HTTP ${response.status}, with an empty file of ${type}.`)] };
  const content: JsonObject[] = [text(keptFileWords(kept)), kept.resourceLink];
  if (shown !== undefined && kept.size <= MAX_SHOWN) {
    content.push({ type: shown, data: Buffer.concat(seen).toString("base64"), mimeType: type });
  }
  return { content };
}

/** RFC 6266: `filename*` before `filename`; else the last part of the path. Whoever keeps it cleans it. */
function fileName(disposition: string | null, url: string): string | undefined {
  const header = (disposition ?? "").slice(0, 4096);
  const extended = /\bfilename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(header)?.[1];
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended);
    } catch {
      // Not encoded as RFC 8187 wants it: the plain name counts.
    }
  }
  const plain = /\bfilename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header);
  const named = plain?.[1]?.replace(/\\(.)/g, "$1") ?? plain?.[2];
  if (named !== undefined) return named;
  const [last = ""] = new URL(url).pathname.split("/").slice(-1);
  return /\.[A-Za-z0-9]{1,8}$/.test(last) ? last : undefined;
}

const text = (words: string) => ({ type: "text", text: words });
