/** Response bodies with a bound: how many bytes are read, decoded or not, and how large one event of a stream gets. */
import { type Readable, Transform, type TransformCallback } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { JackfieldError } from "../errors.ts";

/** Undoes `Content-Encoding`, which we never ask for but some servers apply anyway. Unknown codings pass as they are. */
export function decoded(body: Readable, encoding: string | undefined): Readable {
  const coding = encoding?.trim().toLowerCase();
  const decoder =
    coding === "gzip" || coding === "x-gzip"
      ? createGunzip()
      : coding === "br"
        ? createBrotliDecompress()
        : coding === "deflate"
          ? createInflate()
          : undefined;
  if (!decoder) return body;
  body.on("error", (error) => decoder.destroy(error));
  decoder.on("close", () => body.destroy());
  return body.pipe(decoder);
}

/** Reads all of a body; throws `result_too_large` past `maxBytes` and stops reading. */
export async function readAll(body: Readable, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of boundedChunks(body, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A body as it comes; throws `result_too_large` past `maxBytes`, and stops the body where the reader stops. */
export async function* boundedChunks(body: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    const buffer: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > maxBytes) {
      body.destroy();
      throw tooLarge(maxBytes);
    }
    yield buffer;
  }
}

/**
 * Bounds one event of an event stream, not the stream: it may live for hours, but a frame that never ends would be
 * collected in memory by whoever parses it.
 */
export class EventBound extends Transform {
  readonly #maxBytes: number;
  #pending = 0;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const end = Math.max(chunk.lastIndexOf("\n\n"), chunk.lastIndexOf("\r\n\r\n"));
    this.#pending = end === -1 ? this.#pending + chunk.length : chunk.length - end;
    if (this.#pending > this.#maxBytes) done(tooLarge(this.#maxBytes));
    else done(null, chunk);
  }
}

function tooLarge(maxBytes: number): JackfieldError {
  return new JackfieldError("result_too_large", { detail: `more than ${maxBytes} bytes` });
}
