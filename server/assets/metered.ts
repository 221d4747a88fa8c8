/** Contents on their way in and out of the storage: counted, hashed and compared. */
import { createHash } from "node:crypto";
import { JackfieldError } from "../errors.ts";

export interface Meter {
  /** The same chunks; to be read once. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Bytes so far. */
  readonly size: () => number;
  /** SHA-256 in hexadecimal, once all chunks were read. */
  readonly digest: () => string;
}

/** @param check is told the bytes so far before they are passed on; what it throws ends the reading */
export function metered(content: AsyncIterable<Uint8Array>, check: (bytes: number) => void): Meter {
  const hash = createHash("sha256");
  let bytes = 0;
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      bytes += chunk.byteLength;
      check(bytes);
      hash.update(chunk);
      yield chunk;
    }
  }
  return { chunks: read(), size: () => bytes, digest: () => hash.digest("hex") };
}

/**
 * The same chunks, the last one only after all of them were found to be what is expected: whoever takes them to
 * somewhere else never brings a changed file to its end.
 * @throws JackfieldError `asset_damaged`
 */
export async function* verified(
  content: AsyncIterable<Uint8Array>,
  expected: { size: number; digest: string },
): AsyncGenerator<Uint8Array> {
  const meter = metered(content, (bytes) => {
    if (bytes > expected.size) throw damaged(`more than ${expected.size} bytes`);
  });
  let held: Uint8Array | undefined;
  for await (const chunk of meter.chunks) {
    if (held !== undefined) yield held;
    held = chunk;
  }
  if (meter.size() !== expected.size) throw damaged(`${meter.size()} bytes instead of ${expected.size}`);
  if (meter.digest() !== expected.digest) throw damaged("another digest");
  if (held !== undefined) yield held;
}

/** The content of a kept file is gone or was changed. */
export function damaged(detail: string): JackfieldError {
  return new JackfieldError("asset_damaged", { detail });
}
