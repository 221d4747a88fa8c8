/** Contents of kept files in an S3-compatible bucket. */
import type * as S3 from "@aws-sdk/client-s3";
import { awsRequestHandler } from "../egress/aws-handler.ts";
import { JackfieldError } from "../errors.ts";
import type { AssetStorage } from "./storage.ts";

export interface S3Options {
  readonly bucket: string;
  /** Default: what the SDK finds, e.g. `AWS_REGION`. */
  readonly region?: string | undefined;
  /** Beginning of every key. */
  readonly prefix: string;
  /** Address of a service other than AWS; buckets are then part of the path. */
  readonly endpoint?: string | undefined;
  /** Guarded way out, with answers as streams. */
  readonly fetch: typeof globalThis.fetch;
}

const TIMEOUT_MS = 60_000;
/** Bytes of one part of an upload: S3 takes no less, but for the last. */
const PART = 8 * 1024 * 1024;

/** Opens the storage; reaches for nothing yet. Throws `start_failed` where the SDK is not installed. */
export async function openS3Storage({ bucket, region, prefix, endpoint, fetch }: S3Options): Promise<AssetStorage> {
  const s3 = await load();
  const client = new s3.S3Client({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    // Services that speak S3 do not all know the newer checksums; we have our own.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // Our way out waits for no "100 Continue".
    expectContinueHeader: false,
    requestHandler: awsRequestHandler(fetch, TIMEOUT_MS),
  });
  const at = (key: string) => ({ Bucket: bucket, Key: `${prefix}${key}` });

  /** Content of any length: nobody knows it before its end, and S3 wants it before the beginning. */
  const upload = async (key: string, parts: AsyncIterable<Buffer>): Promise<void> => {
    const iterator = parts[Symbol.asyncIterator]();
    const first = await iterator.next();
    const second = first.done ? first : await iterator.next();
    if (second.done) {
      const Body = first.done ? Buffer.alloc(0) : first.value;
      await reach(client.send(new s3.PutObjectCommand({ ...at(key), Body, ContentType: OPAQUE })));
      return;
    }
    const { UploadId } = await reach(
      client.send(new s3.CreateMultipartUploadCommand({ ...at(key), ContentType: OPAQUE })),
    );
    try {
      const done: { PartNumber: number; ETag: string | undefined }[] = [];
      const send = async (Body: Buffer) => {
        const PartNumber = done.length + 1;
        const sent = await reach(client.send(new s3.UploadPartCommand({ ...at(key), UploadId, PartNumber, Body })));
        done.push({ PartNumber, ETag: sent.ETag });
      };
      if (!first.done) await send(first.value);
      await send(second.value);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) await send(next.value);
      const MultipartUpload = { Parts: done };
      await reach(client.send(new s3.CompleteMultipartUploadCommand({ ...at(key), UploadId, MultipartUpload })));
    } catch (error) {
      await client.send(new s3.AbortMultipartUploadCommand({ ...at(key), UploadId })).catch(() => {
        // Parts that stay behind cost a little until the bucket's own rule takes them; why it failed counts more.
      });
      throw error;
    }
  };

  return {
    write: (key, content) => upload(key, inParts(content)),
    async read(key) {
      try {
        const { Body } = await client.send(new s3.GetObjectCommand(at(key)));
        return Body === undefined ? undefined : chunksOf(Body.transformToWebStream());
      } catch (error) {
        if (isNamed(error, "NoSuchKey") || isNamed(error, "NotFound")) return undefined;
        throw unavailable(error);
      }
    },
    async delete(key) {
      await reach(client.send(new s3.DeleteObjectCommand(at(key))));
    },
  };
}

/** What a browser that gets at it would not show or run. */
const OPAQUE = "application/octet-stream";

async function load(): Promise<typeof S3> {
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    throw new JackfieldError("start_failed", {
      text: "jackfield.yml keeps files in an S3 bucket, which needs: npm install @aws-sdk/client-s3",
      cause,
    });
  }
}

async function* inParts(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    waiting.push(chunk);
    bytes += chunk.byteLength;
    if (bytes < PART) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) yield chunk;
  } catch (error) {
    throw unavailable(error);
  }
}

async function reach<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw unavailable(error);
  }
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

function unavailable(error: unknown): JackfieldError {
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new JackfieldError("asset_unavailable", { detail: `the bucket of kept files: ${detail}`, cause: error });
}
