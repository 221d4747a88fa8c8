/** Contents of kept files in a directory, for its owner only. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { JackfieldError } from "../errors.ts";
import type { AssetStorage } from "./storage.ts";

const CHUNK = 256 * 1024;

/** @param directory absolute; made on first use */
export function createDirectoryStorage(directory: string): AssetStorage {
  const pathOf = (key: string) => {
    if (!/^[A-Za-z0-9-]+(?:\/[A-Za-z0-9-]+)*$/.test(key)) throw new TypeError(`not a key of a kept file: ${key}`);
    return join(directory, ...key.split("/"));
  };
  return {
    async write(key, content) {
      const path = pathOf(key);
      const partial = `${path}.${randomBytes(6).toString("hex")}.part`;
      await reach(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }));
      const file = await reach(() => open(partial, "wx", 0o600));
      try {
        try {
          for await (const chunk of content) await reach(() => file.writeFile(chunk));
          await reach(() => file.sync());
        } finally {
          await file.close();
        }
        await reach(() => rename(partial, path));
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
    },
    async read(key) {
      const path = pathOf(key);
      const file = await reach(async () => {
        try {
          return await open(path, "r");
        } catch (error) {
          if (codeOf(error) === "ENOENT") return undefined;
          throw error;
        }
      });
      return file && chunksOf(createReadStream(path, { fd: file, highWaterMark: CHUNK }));
    },
    async delete(key) {
      const path = pathOf(key);
      await reach(() => rm(path, { force: true }));
    },
  };
}

async function* chunksOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) yield chunk;
  } catch (cause) {
    throw unavailable(cause);
  }
}

async function reach<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw unavailable(cause);
  }
}

function unavailable(cause: unknown): JackfieldError {
  return new JackfieldError("asset_unavailable", { detail: `the directory of kept files: ${String(cause)}`, cause });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
