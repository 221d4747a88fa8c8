import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { SEALED_COLUMNS } from "../server/cli/sealed-columns.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { createResealer } from "../server/vault/reseal.ts";
import { seal } from "../server/vault/seal.ts";
import { changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connectV2, textOf } from "./fixtures/clients.ts";
import { runToEnd } from "./fixtures/command.ts";
import { databases, storeFor } from "./fixtures/databases.ts";
import { startProduct } from "./fixtures/product.ts";

const CALLS = 200;
const key = (byte: number) => Buffer.alloc(32, byte).toString("base64url");

test("200 calls go on while everything is sealed again, and none of them fails", async (t) => {
  const upstream = await changingUpstream(t, [tool("find")]);
  upstream.admit = ({ headers }) =>
    headers.authorization === "Bearer the-secret" ? undefined : { status: 401, body: "who are you?" };
  const access = { read: { tools: ["*"] } };
  const connections = {
    tracker: { type: "mcp", url: upstream.url, auth: { method: "bearer" }, access },
  };
  const before = await startProduct({ connections, env: { JACKFIELD_MASTER_KEY: key(1) } });
  const organizationId = before.app.registry.endpoint(undefined, undefined)?.endpoint.organizationId ?? "";
  const { credentials } = before.app;
  await credentials.set({ organizationId, name: "tracker", values: { secret: "the-secret" }, by: "test" });
  for (let index = 0; index < 50; index += 1) {
    await credentials.set({ organizationId, name: `other-${index}`, values: { secret: `value ${index}` }, by: "test" });
  }
  await before.stop();

  const env = { JACKFIELD_MASTER_KEY: `${key(2)},${key(1)}` };
  let now = Date.now();
  // Half a minute passes with each look at the clock, so that every call reads its credential from the store.
  await using product = await startProduct({
    directory: before.directory,
    env,
    clock: () => {
      now += 31_000;
      return now;
    },
  });
  const client = await connectV2(product.url, await product.token(), "modern");
  const call = () => client.callTool({ name: "tool_read", arguments: { name: "tracker__find", arguments: {} } });
  assert.equal(textOf(await call()), "find");

  const rotating = runToEnd(["vault", "rotate", "--json"], {
    ...env,
    JACKFIELD_DATA_DIR: join(before.directory, "data"),
    JACKFIELD_CONFIG_DIR: join(before.directory, "config"),
  });
  let ended = false;
  rotating.finally(() => {
    ended = true;
  });
  const results: string[] = [];
  const caller = async () => {
    // At least 200, and until the rotation is over.
    while (results.length < CALLS || !ended) results.push(textOf(await call()));
  };
  await Promise.all(Array.from({ length: 20 }, caller));
  const { code, stdout, stderr } = await rotating;
  assert.equal(code, 0, stderr);
  const report: { resealed: number; unreadable: number } = JSON.parse(stdout);
  assert.deepEqual([report.resealed, report.unreadable], [51, 0]);
  assert.ok(results.length >= CALLS);
  assert.deepEqual(
    results.filter((text) => text !== "find"),
    [],
  );
  await client.close();
  await product.stop();

  const after = await startProduct({ directory: before.directory, env: { JACKFIELD_MASTER_KEY: key(2) } });
  assert.equal((await after.app.credentials.find(organizationId, "other-7"))?.value("secret"), "value 7");
  await after.stop();
});

test("every sealed column of the database is among those that are sealed again", async (t) => {
  const store = await storeFor(t);
  const listed = SEALED_COLUMNS.map((column) => `${column.tableName(store)}.${column.attribute}`).sort();
  const existing = Object.values(store.models).flatMap((model) =>
    Object.keys(model.rawAttributes)
      .filter((attribute) => /^sealed/.test(attribute))
      .map((attribute) => `${model.getTableName()}.${attribute}`),
  );
  assert.deepEqual(listed, existing.sort());
});

for (const database of databases) {
  test(`a column is sealed again row by row, over all pages, on ${database.name}`, {
    skip: database.skip,
  }, async (t) => {
    const store = await storeFor(t, database);
    const { organizations, secrets } = store.models;
    const { id: organizationId } = await organizations.create({ slug: "acme", name: "Acme" });
    const [old, both] = [keyringOf(Buffer.alloc(32, 1)), keyringOf(Buffer.alloc(32, 2), Buffer.alloc(32, 1))];
    const owners = Array.from({ length: 450 }, (_, index) => String(index).padStart(26, "0"));
    await secrets.bulkCreate(
      owners.map((owner) => ({
        organizationId,
        owner,
        field: "secret",
        sealed: seal(old, owner, `${organizationId}|${owner}|secret`),
      })),
    );
    const resealer = createResealer(both);
    for (const column of SEALED_COLUMNS) await column.rewrite(store, resealer.change);
    assert.deepEqual(resealer.counts, { resealed: 450, current: 0, unreadable: 0 });
    const texts = (await secrets.findAll()).map(({ sealed }) => sealed);
    assert.ok(texts.every((text) => text.startsWith(`v1.${both.keyId}.`)));
  });
}
