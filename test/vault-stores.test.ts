import assert from "node:assert/strict";
import { afterEach, beforeEach, type TestContext, test } from "node:test";
import { ulid } from "ulid";
import { readConfig } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { openAwsSecrets } from "../server/vault/aws-secrets-manager.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { createSqlSecrets } from "../server/vault/sql.ts";
import { createVault } from "../server/vault/vault.ts";
import { vaultSuite } from "./contract/vault.ts";
import { databases, storeFor } from "./fixtures/databases.ts";
import { secretsManager } from "./fixtures/secrets-manager.ts";

const AWS = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "only-for-tests", AWS_MAX_ATTEMPTS: "1" };
beforeEach(() => Object.assign(process.env, AWS));
afterEach(() => {
  for (const name of Object.keys(AWS)) delete process.env[name];
});

/** The stand-in, and the store on it through the guarded way out. */
async function opened(t: TestContext, allow = "loopback") {
  const manager = await secretsManager(t);
  const config = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: allow });
  const egress = createEgress({ allow: config.allowPrivateUpstreams, closed: () => [] });
  t.after(() => egress.close());
  const secrets = await openAwsSecrets({
    region: "eu-central-1",
    prefix: "jackfield/test/",
    endpoint: manager.endpoint,
    fetch: egress.upstreamFetch,
  });
  return { manager, secrets };
}

for (const database of databases) {
  vaultSuite(`the vault in ${database.name}`, database, async (t) => {
    const store = await storeFor(t, database);
    return {
      secrets: createSqlSecrets(store),
      kept: async () => JSON.stringify(await store.models.secrets.findAll()),
    };
  });
}

vaultSuite("the vault in AWS Secrets Manager", { skip: false }, async (t) => {
  const { manager, secrets } = await opened(t);
  return { secrets, kept: async () => manager.everything() };
});

test("an owner is one secret of the service, under the prefix, and others are left alone", async (t) => {
  const { manager, secrets } = await opened(t);
  manager.secrets.set("elsewhere", { versions: new Map([["1", "not ours"]]), labels: new Map([["AWSCURRENT", "1"]]) });
  const vault = createVault(keyringOf(Buffer.alloc(32, 1)), secrets);
  const of = { organizationId: ulid(), owner: ulid() };
  await vault.put({ ...of, field: "client_id" }, "a");
  await vault.put({ ...of, field: "client_secret" }, "b");
  assert.deepEqual([...manager.secrets.keys()], ["elsewhere", `jackfield/test/${of.owner}`]);
  await vault.reseal();
  assert.match(manager.everything(), /not ours/);
});

test("a write that meets another one is done again on top of it, and neither is lost", async (t) => {
  const { secrets } = await opened(t);
  const vault = createVault(keyringOf(Buffer.alloc(32, 1)), secrets);
  const of = { organizationId: ulid(), owner: ulid() };
  await vault.put({ ...of, field: "first" }, "1");
  const others = Array.from({ length: 3 }, (_, index) => `field_${index}`);
  await Promise.all(others.map((field) => vault.put({ ...of, field }, field)));
  assert.deepEqual(await vault.fields(of.owner), [...others, "first"]);
  for (const field of others) assert.equal(await vault.read({ ...of, field }), field);
});

test("a service that does not answer is told as such, without what it was sent", async (t) => {
  const { manager, secrets } = await opened(t);
  const vault = createVault(keyringOf(Buffer.alloc(32, 1)), secrets);
  manager.failWith = 503;
  const of = { organizationId: ulid(), owner: ulid(), field: "secret" };
  await assert.rejects(vault.put(of, "canary-value"), (error: Error) => {
    assert.equal(Reflect.get(error, "code"), "vault_unavailable");
    assert.doesNotMatch(JSON.stringify(error, Object.getOwnPropertyNames(error)), /canary-value/);
    return true;
  });
});

test("the service is reached through the guarded way out only", async (t) => {
  const { manager, secrets } = await opened(t, "");
  await assert.rejects(secrets.read(ulid()), { code: "blocked_address" });
  assert.deepEqual(manager.calls, []);
});
