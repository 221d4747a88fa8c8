import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { addMasterKey, KEY_FILE, keyringOf, openKeyring } from "../server/vault/keyring.ts";
import { keyIdOf, open, SealError, seal } from "../server/vault/seal.ts";
import { temporaryDirectory } from "./fixtures/databases.ts";

const none = { masterKey: undefined, masterKeyFile: undefined };

test("the first start makes a key that only its owner can read, and later starts find the same", async (t) => {
  const dataDir = join(temporaryDirectory(t), "data");
  const opened = await Promise.all([1, 2, 3].map(() => openKeyring({ config: none, dataDir })));
  assert.equal(new Set(opened.map(({ keyId }) => keyId)).size, 1);
  assert.equal(statSync(dataDir).mode & 0o777, 0o700);
  assert.equal(statSync(join(dataDir, KEY_FILE)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dataDir), [KEY_FILE]);
  assert.equal(Buffer.from(readFileSync(join(dataDir, KEY_FILE), "utf8"), "base64url").length, 32);
});

test("a key that others can read, and a key that is none, end the start with one line", async (t) => {
  const dataDir = temporaryDirectory(t);
  await openKeyring({ config: none, dataDir });
  const path = join(dataDir, KEY_FILE);
  chmodSync(path, 0o640);
  await assert.rejects(openKeyring({ config: none, dataDir }), {
    code: "start_failed",
    message: `Others can read the master key: run chmod 600 ${path}`,
  });
  chmodSync(path, 0o600);
  writeFileSync(path, "short");
  await assert.rejects(openKeyring({ config: none, dataDir }), {
    code: "start_failed",
    message: /does not hold 32 bytes/,
  });
});

test("the key of the configuration, or of the file it names, is used in every notation, and none is made", async (t) => {
  const dataDir = temporaryDirectory(t);
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));
  const { keyId } = keyringOf(bytes);
  for (const masterKey of [bytes.toString("hex"), bytes.toString("base64"), bytes.toString("base64url")]) {
    assert.equal((await openKeyring({ config: { ...none, masterKey }, dataDir })).keyId, keyId);
  }
  const masterKeyFile = join(dataDir, "key");
  writeFileSync(masterKeyFile, `${bytes.toString("hex")}\n`);
  assert.equal((await openKeyring({ config: { ...none, masterKeyFile }, dataDir })).keyId, keyId);
  assert.deepEqual(readdirSync(dataDir), ["key"]);
  const missing = { ...none, masterKeyFile: join(dataDir, "missing") };
  await assert.rejects(openKeyring({ config: missing, dataDir }), { code: "start_failed", message: /missing/ });
});

test("of several keys, in the variable or a file, the first seals and all open", async (t) => {
  const dataDir = temporaryDirectory(t);
  const [older, newer] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const sealed = seal(keyringOf(older), "secret", "row");
  const text = [newer.toString("base64"), older.toString("hex")];
  const masterKeyFile = join(dataDir, "keys");
  writeFileSync(masterKeyFile, `${text.join("\n")}\n`);
  for (const config of [
    { ...none, masterKey: text.join(",") },
    { ...none, masterKeyFile },
  ]) {
    const keyring = await openKeyring({ config, dataDir });
    assert.deepEqual(keyring.keyIds, [keyringOf(newer).keyId, keyringOf(older).keyId]);
    assert.equal(open(keyring, sealed, "row"), "secret");
    assert.equal(keyIdOf(seal(keyring, "secret", "row")), keyringOf(newer).keyId);
  }
  for (const wrong of [`${text[0]},short`, ","]) {
    writeFileSync(masterKeyFile, wrong);
    await assert.rejects(openKeyring({ config: { ...none, masterKeyFile }, dataDir }), { code: "start_failed" });
  }
});

test("a new key in the file is found by whoever meets what it sealed, and the older one still opens", async (t) => {
  const dataDir = temporaryDirectory(t);
  const running = await openKeyring({ config: none, dataDir });
  const before = seal(running, "before", "row");
  addMasterKey({ config: none, dataDir });
  assert.equal(statSync(join(dataDir, KEY_FILE)).mode & 0o777, 0o600);
  const started = await openKeyring({ config: none, dataDir });
  assert.equal(started.keyIds[1], running.keyId);
  const after = seal(started, "after", "row");
  assert.equal(open(running, after, "row"), "after");
  assert.equal(running.keyId, started.keyId);
  assert.equal(open(running, before, "row"), "before");
  assert.equal(open(started, before, "row"), "before");
  assert.throws(() => addMasterKey({ config: { ...none, masterKey: "x" }, dataDir }), /JACKFIELD_MASTER_KEY/);
});

test("keys derived for different purposes, or from different master keys, differ", () => {
  const keyring = keyringOf(Buffer.alloc(32, 1));
  assert.equal(keyring.deriveKey("a").length, 32);
  assert.deepEqual(keyring.deriveKey("a"), keyringOf(Buffer.alloc(32, 1)).deriveKey("a"));
  assert.notDeepEqual(keyring.deriveKey("a"), keyring.deriveKey("b"));
  assert.notDeepEqual(keyring.deriveKey("a"), keyringOf(Buffer.alloc(32, 2)).deriveKey("a"));
});

test("what was sealed opens again, and no two sealings look alike", () => {
  const keyring = keyringOf(Buffer.alloc(32, 1));
  const text = "a secret, ü and \u{1F600}";
  const sealed = seal(keyring, text, "row 1");
  assert.match(sealed, new RegExp(`^v1\\.${keyring.keyId}\\.[A-Za-z0-9_-]+$`));
  assert.equal(open(keyring, sealed, "row 1"), text);
  assert.notEqual(seal(keyring, text, "row 1"), sealed);
  assert.equal(open(keyring, seal(keyring, "", ""), ""), "");
});

test("what was sealed opens in its own place only", () => {
  const keyring = keyringOf(Buffer.alloc(32, 1));
  const sealed = seal(keyring, "secret", "row 1");
  assert.throws(() => open(keyring, sealed, "row 2"), SealError);
  assert.throws(() => open(keyringOf(Buffer.alloc(32, 2)), sealed, "row 1"), /another master key/);
});

test("a changed, shortened or foreign text does not open", () => {
  const keyring = keyringOf(Buffer.alloc(32, 1));
  const sealed = seal(keyring, "secret", "row");
  const [version, keyId, body = ""] = sealed.split(".");
  const bytes = Buffer.from(body, "base64url");
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const text = `${version}.${keyId}.${changed.toString("base64url")}`;
    assert.throws(() => open(keyring, text, "row"), SealError, `byte ${at}`);
  }
  // A tag cut down to four bytes, which Node takes where no length is asked for.
  const cutTag = Buffer.concat([bytes.subarray(0, 16), bytes.subarray(28)]);
  const shortened = [bytes.subarray(0, 27), bytes.subarray(0, -1), cutTag, Buffer.alloc(0)];
  for (const part of shortened) {
    assert.throws(() => open(keyring, `${version}.${keyId}.${part.toString("base64url")}`, "row"), SealError);
  }
  for (const wrong of ["", "v1", `v2.${keyId}.${body}`, `${sealed}.x`, "plain text"]) {
    assert.throws(() => open(keyring, wrong, "row"), SealError, wrong);
  }
});
