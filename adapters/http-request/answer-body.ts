/** The body of an answer: how much of it is read, and as what. */

export type AnswerBody =
  | { kind: "bytes"; bytes: Uint8Array<ArrayBuffer> }
  /** It is longer: the whole of it, from its beginning. */
  | { kind: "stream"; stream: ReadableStream<Uint8Array> };

/** Reads a body into memory up to `most` bytes. @throws what reading it throws */
export async function readBody(response: Response, most: number): Promise<AnswerBody> {
  const chunks: Uint8Array[] = [];
  if (response.body === null) return { kind: "bytes", bytes: joined(chunks) };
  const reader = response.body.getReader();
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { kind: "bytes", bytes: joined(chunks) };
    chunks.push(value);
    bytes += value.byteLength;
    if (bytes > most) return { kind: "stream", stream: ReadableStream.from(rest(chunks, reader)) };
  }
}

async function* rest(
  chunks: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

/** The beginning of a body, and how long it is as far as anybody says; the rest is not read. */
export async function beginningOf(response: Response, most: number): Promise<{ bytes: Uint8Array; more: boolean }> {
  const body = await readBody(response, most);
  if (body.kind === "bytes") return { bytes: body.bytes, more: false };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body.stream) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > most) break;
  }
  return { bytes: joined(chunks).subarray(0, most), more: true };
}

function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(chunks));
}

/** The media type of an answer in lower case, without parameters; empty where there is none. */
export function mediaType(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase();
}

/** Bytes as text in the answer's own charset; undefined where it names no type and they are none. */
export function decoded(bytes: Uint8Array, response: Response): string | undefined {
  const untyped = mediaType(response) === "";
  const charset = /charset="?([\w.:-]+)/i.exec(response.headers.get("content-type") ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset, { fatal: untyped }).decode(bytes);
  } catch {
    return untyped ? undefined : new TextDecoder().decode(bytes);
  }
}
