/** What the vault must do on every store. Registers its tests under the given name. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { ulid } from "ulid";
import type { SecretRef, SecretStore, Vault } from "../../server/vault/contract.ts";
import { type Keyring, keyringOf } from "../../server/vault/keyring.ts";
import { SealError } from "../../server/vault/seal.ts";
import { createVault } from "../../server/vault/vault.ts";

export interface OpenedStore {
  secrets: SecretStore;
  /** Everything that is kept, as somebody reads it who has the store but not the key. */
  kept(): Promise<string>;
}

const key = (byte: number) => Buffer.alloc(32, byte);

export function vaultSuite(
  name: string,
  { skip }: { skip: string | false },
  open: (t: TestContext) => Promise<OpenedStore>,
): void {
  const vaults = async (t: TestContext, ...keyrings: Keyring[]) => {
    const store = await open(t);
    return { ...store, vaults: keyrings.map((keyring) => createVault(keyring, store.secrets)) };
  };
  const one = async (t: TestContext): Promise<OpenedStore & { vault: Vault }> => {
    const { vaults: opened, ...store } = await vaults(t, keyringOf(key(1)));
    const [vault] = opened;
    assert.ok(vault);
    return { ...store, vault };
  };
  const ref = (field = "secret", owner = ulid(), organizationId = ulid()): SecretRef => ({
    organizationId,
    owner,
    field,
  });

  describe(name, { skip }, () => {
    test("a secret that was put is read, replaced and deleted", async (t) => {
      const { vault } = await one(t);
      const it = ref();
      assert.equal(await vault.read(it), undefined);
      await vault.put(it, "first, ü and \u{1F600}");
      assert.equal(await vault.read(it), "first, ü and \u{1F600}");
      await vault.put(it, "second");
      assert.equal(await vault.read(it), "second");
      await vault.delete(it.owner);
      assert.equal(await vault.read(it), undefined);
      await vault.delete(it.owner);
    });

    test("the fields of an owner are its own, and are deleted together", async (t) => {
      const { vault } = await one(t);
      const id = ref("client_id");
      const secret = { ...id, field: "client_secret" };
      const other = ref("client_id");
      await vault.put(secret, "s");
      await vault.put(id, "i");
      await vault.put(other, "o");
      assert.deepEqual(await vault.fields(id.owner), ["client_id", "client_secret"]);
      const loaded = await vault.load(id.organizationId, id.owner);
      assert.deepEqual(loaded.fields, ["client_id", "client_secret"]);
      assert.deepEqual(
        ["client_id", "client_secret", "nothing"].map((field) => loaded.open(field)),
        ["i", "s", undefined],
      );
      await vault.delete(id.owner);
      assert.deepEqual(await vault.fields(id.owner), []);
      assert.equal(await vault.read(other), "o");
    });

    test("what is kept holds neither the secret nor anything that opens without the key", async (t) => {
      const { vaults: opened, kept } = await vaults(t, keyringOf(key(1)), keyringOf(key(2)));
      const [vault, thief] = opened;
      const it = ref();
      await vault?.put(it, "canary-in-the-vault");
      const text = await kept();
      assert.match(text, /v1\.[0-9a-f]{8}\./);
      for (const form of ["utf8", "base64", "base64url", "hex"] as const) {
        assert.ok(!text.includes(Buffer.from("canary-in-the-vault").toString(form)), form);
      }
      await assert.rejects(async () => thief?.read(it), SealError);
    });

    test("a sealed text that was moved to another owner, field or organization does not open", async (t) => {
      const { vault, secrets } = await one(t);
      const from = ref();
      await vault.put(from, "mine");
      const sealed = (await secrets.read(from.owner)).get("secret");
      assert.ok(sealed);
      const places = [ref(), { ...from, field: "other" }];
      for (const place of places) {
        await secrets.write(place, sealed);
        await assert.rejects(vault.read(place), SealError);
      }
      await assert.rejects(vault.read({ ...from, organizationId: ulid() }), SealError);
      assert.equal(await vault.read(from), "mine");
    });

    test("with several keys the first seals and all open; resealing leaves nothing for the older ones", async (t) => {
      const [old, both, fresh] = [keyringOf(key(1)), keyringOf(key(2), key(1)), keyringOf(key(2))];
      const { vaults: opened } = await vaults(t, old, both, fresh);
      const [before, during, after] = opened;
      assert.ok(before && during && after);
      const refs = [ref("client_id"), ref(), ref(), ref(), ref()];
      const [first, second] = refs;
      assert.ok(first && second);
      refs.push({ ...first, field: "client_secret" });
      for (const it of refs) await before.put(it, `value of ${it.owner} ${it.field}`);
      assert.equal(await during.read(first), `value of ${first.owner} ${first.field}`);
      await assert.rejects(after.read(first), SealError);
      await during.put(second, "changed");

      assert.deepEqual(await during.reseal(), { resealed: 5, current: 1, unreadable: 0 });
      assert.deepEqual(await during.reseal(), { resealed: 0, current: 6, unreadable: 0 });
      for (const it of refs) {
        const value: string = it === second ? "changed" : `value of ${it.owner} ${it.field}`;
        assert.equal(await after.read(it), value);
      }
      await assert.rejects(before.read(first), SealError);
    });

    test("resealing says what no key here opens, and leaves it as it is", async (t) => {
      const { vaults: opened } = await vaults(t, keyringOf(key(1)), keyringOf(key(3), key(2)));
      const [foreign, own] = opened;
      assert.ok(foreign && own);
      const it = ref();
      await foreign.put(it, "sealed elsewhere");
      assert.deepEqual(await own.reseal(), { resealed: 0, current: 0, unreadable: 1 });
      assert.equal(await foreign.read(it), "sealed elsewhere");
    });

    test("a value that is put while everything is resealed stays", async (t) => {
      const { vaults: opened } = await vaults(t, keyringOf(key(1)), keyringOf(key(2), key(1)));
      const [before, during] = opened;
      assert.ok(before && during);
      const refs = Array.from({ length: 12 }, () => ref());
      for (const it of refs) await before.put(it, "old");
      await Promise.all([during.reseal(), ...refs.map((it) => during.put(it, "new"))]);
      for (const it of refs) assert.equal(await during.read(it), "new");
    });
  });
}
