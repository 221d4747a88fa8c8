import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ulid } from "ulid";
import { type AssetRoom, assetRoom, bytesOf } from "./fixtures/assets.ts";
import { databases } from "./fixtures/databases.ts";

const HOUR = 3_600_000;
const MIB = 1024 * 1024;

function contents(room: AssetRoom): string[] {
  return readdirSync(room.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

for (const database of databases) {
  test(`on ${database.name} a file comes back as it was kept, with its digest, size, type and name`, {
    skip: database.skip,
  }, async (t) => {
    const room = await assetRoom(t, { database });
    const files = room.keeper.of(room.owner());
    const bytes = randomBytes(3 * MIB + 17);
    const kept = await files.put(ReadableStream.from(chunks(bytes, 100_000)), {
      name: "a.bin",
      type: "image/PNG; q=1",
    });
    assert.match(kept.handle, /^asset:\/\/[A-Za-z0-9_-]{24}$/);
    assert.deepEqual(kept.resourceLink, {
      type: "resource_link",
      uri: kept.handle,
      name: "a.bin",
      mimeType: "image/png",
      size: bytes.length,
    });
    const found = await files.read(kept.handle);
    assert.equal(found.digest, createHash("sha256").update(bytes).digest("hex"));
    assert.equal(found.size, bytes.length);
    assert.equal(found.expiresAt, room.time.now + 24 * HOUR);
    // Twice: a request that is sent again needs its body again.
    assert.ok(bytes.equals(await bytesOf(found.stream())));
    assert.ok(bytes.equals(await bytesOf(found.stream())));
  });

  test(`on ${database.name} files that are written at once do not take more than there is room for`, {
    skip: database.skip,
  }, async (t) => {
    const room = await assetRoom(t, { database, limits: { principalBytes: 5000 } });
    const files = room.keeper.of(room.owner());
    const all = await Promise.allSettled(Array.from({ length: 12 }, () => files.put(randomBytes(1000), {})));
    const refused = all.filter((each) => each.status === "rejected").map(({ reason }) => reason.code);
    assert.deepEqual(refused, Array(7).fill("asset_quota"));
    assert.equal(contents(room).length, 5);
    assert.equal(await room.store.models.assets.count(), 5);
  });
}

test("a handle works for its own principal, environment and organization only, and until it expires", async (t) => {
  const room = await assetRoom(t);
  const { handle } = await room.keeper.of(room.owner()).put(Buffer.from("mine"), {});
  const read = (over: Parameters<AssetRoom["owner"]>[0]) => room.keeper.of(room.owner(over)).read(handle);
  for (const over of [{ principalKey: "b".repeat(64) }, { environmentId: ulid() }, { organizationId: ulid() }]) {
    await assert.rejects(read(over), { code: "asset_not_found" });
  }
  for (const wrong of [handle.slice(0, -1), `${handle}?x`, "asset://../../secret", handle.toUpperCase()]) {
    await assert.rejects(room.keeper.of(room.owner()).read(wrong), { code: "asset_not_found" }, wrong);
  }
  room.time.now += 24 * HOUR - 1;
  assert.equal(String(await bytesOf((await read({})).stream())), "mine");
  room.time.now += 1;
  await assert.rejects(read({}), { code: "asset_not_found" });
});

test("content that is not what was kept is refused before any of it is passed on", async (t) => {
  const room = await assetRoom(t);
  const files = room.keeper.of(room.owner());
  for (const bytes of [randomBytes(1000), randomBytes(2 * MIB)]) {
    const { handle } = await files.put(bytes, {});
    const [path = ""] = contents(room);
    const opened = await files.read(handle);
    const changes: [string, Buffer][] = [
      ["one byte is another", Buffer.concat([bytes.subarray(0, -1), Buffer.of((bytes.at(-1) ?? 0) ^ 1)])],
      ["the end is gone", bytes.subarray(0, -1)],
      ["there is more", Buffer.concat([bytes, Buffer.of(0)])],
    ];
    for (const [what, changed] of changes) {
      writeFileSync(path, changed);
      await assert.rejects(files.read(handle), { code: "asset_damaged" }, what);
      // Changed between the check and the sending: the end of it never comes.
      if (bytes.length > MIB) await assert.rejects(bytesOf(opened.stream()), { code: "asset_damaged" }, what);
    }
    rmSync(path);
    await assert.rejects(files.read(handle), { code: "asset_damaged" });
  }
});

test("a file that is too large, or whose source fails, leaves nothing behind", async (t) => {
  const room = await assetRoom(t, { limits: { fileBytes: 1000 } });
  const files = room.keeper.of(room.owner());
  await assert.rejects(files.put(randomBytes(1001), {}), { code: "asset_too_large" });
  async function* breaking(): AsyncGenerator<Uint8Array> {
    yield randomBytes(500);
    throw new Error("the service hung up");
  }
  await assert.rejects(files.put(ReadableStream.from(breaking()), {}), /hung up/);
  assert.deepEqual(contents(room), []);
  assert.equal(await room.store.models.assets.count(), 0);
  await files.put(randomBytes(1000), {});
});

test("an organization's room is shared by its principals, and comes back as files expire", async (t) => {
  const room = await assetRoom(t, { limits: { organizationBytes: 3000 } });
  const by = (letter: string) => room.keeper.of(room.owner({ principalKey: letter.repeat(64) }));
  await by("a").put(randomBytes(2000), {});
  await assert.rejects(by("b").put(randomBytes(2000), {}), { code: "asset_quota" });
  room.time.now += 25 * HOUR;
  await by("b").put(randomBytes(2000), {});
});

test("expired files go with the next sweep, and so does what a process left behind that died while it wrote", async (t) => {
  const room = await assetRoom(t);
  const files = room.keeper.of(room.owner());
  await files.put(Buffer.from("old"), {});
  const { assets } = room.store.models;
  const unfinished = { state: "writing" as const, digest: null, size: 0 };
  room.time.now += 23 * HOUR;
  await assets.update({ ...unfinished, expiresAt: new Date(room.time.now + HOUR) }, { where: {} });
  const { handle } = await files.put(Buffer.from("new"), {});
  assert.equal(await room.sweeper.sweep(), 0);
  room.time.now += 2 * HOUR;
  assert.equal(await room.sweeper.sweep(), 1);
  assert.equal(contents(room).length, 1);
  assert.equal(String(await bytesOf((await files.read(handle)).stream())), "new");
});

test("contents are for the server's own account only", async (t) => {
  const room = await assetRoom(t);
  await room.keeper.of(room.owner()).put(Buffer.from("x"), { name: "../../run.sh", type: "text/x-shellscript" });
  const [path = ""] = contents(room);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(room.directory).mode & 0o777, 0o700);
  assert.equal(readFileSync(path, "utf8"), "x");
  assert.match(path, /\/assets\/[0-9A-Z]{26}\/[0-9A-Z]{26}$/);
});

test("names are stripped of folders, control and invisible characters; types are never guessed", async (t) => {
  const room = await assetRoom(t);
  const files = room.keeper.of(room.owner());
  const names: [string | undefined, string][] = [
    ["report.pdf", "report.pdf"],
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\a\\Bericht 1.pdf", "Bericht 1.pdf"],
    ["a\r\nSet-Cookie: b.txt", "aSet-Cookie_ b.txt"],
    ["invoice\u202Efdp.exe", "invoicefdp.exe"],
    ["..", "file"],
    [".htaccess", "htaccess"],
    ['x"y<z>.txt', "x_y_z_.txt"],
    ["", "file"],
    [undefined, "file"],
    [`${"ü".repeat(300)}.jpeg`, `${"ü".repeat(115)}.jpeg`],
  ];
  for (const [given, expected] of names) assert.equal((await files.put(Buffer.of(1), { name: given })).name, expected);
  const types: [string | undefined, string][] = [
    ["text/plain; charset=utf-8", "text/plain"],
    ["Image/SVG+xml", "image/svg+xml"],
    ["nonsense", "application/octet-stream"],
    ["text/html\r\nx: y", "application/octet-stream"],
    [undefined, "application/octet-stream"],
  ];
  for (const [given, expected] of types) {
    const png = Buffer.from("89504e470d0a1a0a", "hex");
    assert.equal((await files.put(png, { type: given })).type, expected);
  }
});
