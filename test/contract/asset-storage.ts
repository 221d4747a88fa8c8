/** What every storage of kept files must do. Registers its tests under the given name. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { ulid } from "ulid";
import type { AssetStorage } from "../../server/assets/storage.ts";

export interface OpenedStorage {
  storage: AssetStorage;
  /** How many contents there are, finished or not. */
  count(): number;
}

const MIB = 1024 * 1024;

async function* inChunks(bytes: Buffer, size = 300_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function all(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  assert.ok(content);
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function assetStorageSuite(name: string, open: (t: TestContext) => Promise<OpenedStorage>): void {
  describe(`storage of files: ${name}`, () => {
    for (const size of [0, 1, 8 * MIB, 8 * MIB + 1, 20 * MIB + 3]) {
      test(`content of ${size} bytes comes back as it was`, async (t) => {
        const { storage, count } = await open(t);
        const key = `${ulid()}/${ulid()}`;
        const bytes = randomBytes(size);
        await storage.write(key, inChunks(bytes));
        assert.ok(bytes.equals(await all(await storage.read(key))));
        assert.ok(bytes.equals(await all(await storage.read(key))));
        assert.equal(count(), 1);
      });
    }

    test("a source that fails leaves nothing, whatever was written of it", async (t) => {
      const { storage, count } = await open(t);
      for (const size of [1000, 9 * MIB]) {
        async function* failing(): AsyncGenerator<Uint8Array> {
          yield* inChunks(randomBytes(size));
          throw new Error("the source broke");
        }
        const key = `${ulid()}/${ulid()}`;
        await assert.rejects(storage.write(key, failing()), /the source broke/);
        assert.equal(await storage.read(key), undefined);
        assert.equal(count(), 0);
      }
    });

    test("contents are apart, and go one by one; what is not there is no error", async (t) => {
      const { storage, count } = await open(t);
      const [a, b] = [`${ulid()}/${ulid()}`, `${ulid()}/${ulid()}`];
      await storage.write(a, inChunks(Buffer.from("a")));
      await storage.write(b, inChunks(Buffer.from("b")));
      await storage.delete(a);
      await storage.delete(a);
      assert.equal(await storage.read(a), undefined);
      assert.equal(String(await all(await storage.read(b))), "b");
      assert.equal(count(), 1);
    });

    test("a reader that stops early harms nobody", async (t) => {
      const { storage } = await open(t);
      const key = `${ulid()}/${ulid()}`;
      const bytes = randomBytes(4 * MIB);
      await storage.write(key, inChunks(bytes));
      for await (const _chunk of (await storage.read(key)) ?? []) break;
      assert.ok(bytes.equals(await all(await storage.read(key))));
    });
  });
}
