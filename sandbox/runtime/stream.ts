/** `node:stream` with its `promises`, `web` and `consumers`. */
import stream from "readable-stream";
import * as webStreams from "web-streams-polyfill";
import { Buffer, bytesFrom } from "./buffer.ts";

export { stream, webStreams };
export const { Readable, Writable, Duplex, Transform, PassThrough } = stream;

/** All bytes of a stream, or of anything that yields chunks. */
export async function readAll(source: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(bytesFrom(chunk));
  return Buffer.concat(chunks);
}

const text = async (source: AsyncIterable<unknown>): Promise<string> => (await readAll(source)).toString("utf8");

export const streamConsumers = {
  buffer: readAll,
  text,
  json: async (source: AsyncIterable<unknown>): Promise<unknown> => JSON.parse(await text(source)),
  arrayBuffer: async (source: AsyncIterable<unknown>) => new Uint8Array(await readAll(source)).buffer,
};
