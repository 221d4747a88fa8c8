import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, type TestContext, test } from "node:test";
import { createDirectoryStorage } from "../server/assets/directory.ts";
import { openS3Storage } from "../server/assets/s3.ts";
import { readConfig } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { assetStorageSuite } from "./contract/asset-storage.ts";
import { assetRoom, bytesOf } from "./fixtures/assets.ts";
import { temporaryDirectory } from "./fixtures/databases.ts";
import { OBJECT_STORE_KEYS, objectStore } from "./fixtures/object-store.ts";
import { startProduct } from "./fixtures/product.ts";

const AWS = {
  AWS_ACCESS_KEY_ID: OBJECT_STORE_KEYS.id,
  AWS_SECRET_ACCESS_KEY: OBJECT_STORE_KEYS.secret,
  AWS_MAX_ATTEMPTS: "1",
};
beforeEach(() => Object.assign(process.env, AWS));
afterEach(() => {
  for (const name of Object.keys(AWS)) delete process.env[name];
});

async function openBucket(t: TestContext, allow = "loopback") {
  const service = await objectStore(t);
  const config = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: allow });
  const egress = createEgress({ allow: config.allowPrivateUpstreams, closed: () => [] });
  t.after(() => egress.close());
  const storage = await openS3Storage({
    bucket: "files",
    region: "eu-central-1",
    prefix: "jackfield/",
    endpoint: service.endpoint,
    fetch: egress.upstreamStream,
  });
  return { service, storage, count: () => service.objects.size + service.uploads.size };
}

assetStorageSuite("a directory", async (t) => {
  const directory = join(temporaryDirectory(t), "assets");
  const storage = createDirectoryStorage(directory);
  const files = () => readdirSync(directory, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return { storage, count: () => files().length };
});

assetStorageSuite("an S3-compatible bucket", openBucket);

test("a key that leads out of the directory is no key", async (t) => {
  const storage = createDirectoryStorage(join(temporaryDirectory(t), "assets"));
  for (const key of ["../a", "a/../b", "/etc/passwd", "a//b", "", "a\0b"]) {
    await assert.rejects(storage.read(key), TypeError, key);
  }
});

test("files in a bucket are kept, checked and swept as those in a directory", async (t) => {
  const { service, storage } = await openBucket(t);
  const room = await assetRoom(t, { storage });
  const files = room.keeper.of(room.owner());
  const bytes = randomBytes(9 * 1024 * 1024);
  const { handle } = await files.put(bytes, { name: "big.bin" });
  const [key = ""] = service.objects.keys();
  assert.match(key, /^files\/jackfield\/[0-9A-Z]{26}\/[0-9A-Z]{26}$/);
  assert.ok(bytes.equals(await bytesOf((await files.read(handle)).stream())));
  service.objects.set(key, Buffer.concat([bytes.subarray(0, -1), Buffer.of((bytes.at(-1) ?? 0) ^ 1)]));
  await assert.rejects(files.read(handle), { code: "asset_damaged" });
  room.time.now += 25 * 3_600_000;
  assert.equal(await room.sweeper.sweep(), 1);
  assert.equal(service.objects.size, 0);
});

test("a bucket that does not answer, or refuses the signature, is told as such, and nothing is kept", async (t) => {
  const { service, storage } = await openBucket(t);
  const room = await assetRoom(t, { storage });
  const files = room.keeper.of(room.owner());
  const { handle } = await files.put(Buffer.from("x"), {});
  service.failWith = 503;
  await assert.rejects(files.put(Buffer.from("y"), {}), { code: "asset_unavailable" });
  await assert.rejects(files.read(handle), { code: "asset_unavailable" });
  service.failWith = undefined;
  process.env["AWS_SECRET_ACCESS_KEY"] = "another";
  const other = await openS3Storage({
    bucket: "files",
    region: "eu-central-1",
    prefix: "",
    endpoint: service.endpoint,
    fetch: globalThis.fetch,
  });
  const refused = { code: "asset_unavailable", detail: /SignatureDoesNotMatch/ };
  await assert.rejects(other.delete("a"), refused);
});

test("a bucket in the own network is reached only where the operator opened it", async (t) => {
  const { service, storage } = await openBucket(t, "");
  await assert.rejects(storage.delete("a"), { code: "asset_unavailable", detail: /not allowed/ });
  assert.deepEqual(service.calls, []);
});

test("jackfield.yml says where files are kept, how long and how much", async (t) => {
  const service = await objectStore(t);
  const assets = [
    "assets:",
    "  store: s3",
    "  bucket: files",
    "  region: eu-central-1",
    `  endpoint: ${service.endpoint}`,
    "  hours: 1",
    "  fileMiB: 1",
  ];
  const product = await startProduct({ files: { "jackfield.yml": ["version: 1", ...assets, ""].join("\n") } });
  t.after(() => product[Symbol.asyncDispose]());
  await assert.rejects(
    startProduct({ files: { "jackfield.yml": "version: 1\nassets: { store: s3 }\n" } }),
    /assets\.bucket/,
  );
});
