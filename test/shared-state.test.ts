import assert from "node:assert/strict";
import { test } from "node:test";
import { type Payload, TOPICS } from "../server/shared-state/contract.ts";
import { openMemoryState } from "../server/shared-state/memory.ts";
import { openSharedState } from "../server/shared-state/open.ts";
import { openRedisState } from "../server/shared-state/redis.ts";
import { openStore } from "../server/store/database.ts";
import { nextMessage, sharedStateSuite } from "./contract/shared-state.ts";
import { databases, freePort, redisFor, redisSkip, storeFor } from "./fixtures/databases.ts";
import { inSecondProcess } from "./fixtures/run-second-process.ts";
import { silentLog as log } from "./fixtures/silent-log.ts";

for (const database of databases) {
  sharedStateSuite(
    `the shared state in memory, on ${database.name}`,
    { skip: database.skip, scope: "process" },
    async (t) => {
      const store = await storeFor(t, database);
      const beside = await openStore({ url: store.url, dataDir: store.dataDir, log });
      const here = await openMemoryState({ store, log });
      const there = await openMemoryState({ store: beside, log });
      t.after(async () => {
        await here.close();
        await there.close();
        await beside.close();
      });
      return [here, there];
    },
  );
}

let deployments = 0;

sharedStateSuite("the shared state in Redis", { skip: redisSkip, scope: "deployment" }, async (t) => {
  const { url } = await redisFor(t);
  const namespace = `test-${process.pid}-${deployments++}`;
  const here = await openRedisState({ url, namespace, log });
  const there = await openRedisState({ url, namespace, log });
  t.after(async () => {
    await here.close();
    await there.close();
  });
  return [here, there];
});

test("a message of another process on the same SQLite file is heard within a second", async (t) => {
  const store = await storeFor(t);
  const shared = await openMemoryState({ store, log });
  t.after(() => shared.close());
  let heardAt = 0;
  const heard = nextMessage(shared, TOPICS.reload).then((payload) => {
    heardAt = performance.now();
    return payload;
  });
  await inSecondProcess(store, "publish", TOPICS.reload);
  const endedAt = performance.now();
  assert.deepEqual(await heard, { from: "another process" });
  assert.ok(heardAt - endedAt < 1_000, `${heardAt - endedAt} ms after that process had ended`);
});

test("messages that other processes have had time to read are deleted", async (t) => {
  const store = await storeFor(t);
  let now = Date.UTC(2026, 10, 30);
  const shared = await openMemoryState({ store, log, clock: () => now });
  t.after(() => shared.close());
  await shared.bus.publish("tokens", { number: 1 });
  now += 15 * 60_000;
  await shared.bus.publish("tokens", { number: 2 });
  const rows = await store.models.changes.findAll();
  assert.deepEqual(
    rows.map(({ payload }) => payload),
    [{ number: 2 }],
  );
});

test("a message that cannot be written is still heard here, and publishing does not fail", async (t) => {
  const store = await storeFor(t);
  const warnings: string[] = [];
  const shared = await openMemoryState({ store, log: { ...log, warn: (_, message) => warnings.push(message) } });
  t.after(() => shared.close());
  const heard = nextMessage(shared, "tokens");
  await store.sequelize.query("DROP TABLE changes");
  await shared.bus.publish("tokens", { id: "1" });
  assert.deepEqual(await heard, { id: "1" });
  assert.ok(warnings.includes("a message could not be passed on to other processes"));
});

test("two deployments on one Redis do not hear each other", { skip: redisSkip }, async (t) => {
  const { url } = await redisFor(t);
  const [ours, peer, foreign] = await Promise.all(
    ["ours", "ours", "foreign"].map((namespace) => openRedisState({ url, namespace, log })),
  );
  assert.ok(ours && peer && foreign);
  t.after(() => Promise.all([ours.close(), peer.close(), foreign.close()]));
  const heardByForeign: Payload[] = [];
  foreign.bus.subscribe("tokens", (payload) => heardByForeign.push(payload));
  const heard = nextMessage(peer, "tokens");
  await ours.bus.publish("tokens", { id: "1" });
  await heard;
  const own = nextMessage(foreign, "tokens");
  await foreign.bus.publish("tokens", { id: "2" });
  await own;
  assert.deepEqual(heardByForeign, [{ id: "2" }]);
  await ours.cache.set("k", "v", 60_000);
  assert.equal(await foreign.cache.get("k"), undefined);
});

test("when Redis goes away limits are still counted and the cache is empty; when it is back listeners are told to read everything again", {
  skip: redisSkip || (process.env["REDIS_URL"] ? "the Redis of REDIS_URL is not ours to stop" : false),
}, async (t) => {
  const server = await redisFor(t);
  const shared = await openRedisState({ url: server.url, namespace: "n", log });
  t.after(() => shared.close());
  await shared.cache.set("k", "v", 60_000);
  await server.stop?.();
  assert.equal(await shared.cache.get("k"), undefined);
  const limit = { points: 1, perMs: 60_000 };
  assert.equal((await shared.limiter.consume("k", limit)).allowed, true);
  assert.equal((await shared.limiter.consume("k", limit)).allowed, false);
  const heard = nextMessage(shared, "tokens");
  await shared.bus.publish("tokens", { id: "1" });
  assert.deepEqual(await heard, { id: "1" });
  const lost = nextMessage(shared, "tokens");
  await server.start?.();
  assert.deepEqual(await lost, {});
});

test("a Redis that does not answer at the start is one clear line", async (t) => {
  const store = await storeFor(t);
  const redisUrl = `redis://:hidden@127.0.0.1:${await freePort()}`;
  await assert.rejects(openSharedState({ config: { redisUrl }, store, log }), (error: Error & { code?: string }) => {
    assert.equal(error.code, "start_failed");
    assert.match(error.message, /^Redis \(REDIS_URL\) does not answer: [^\n]+$/);
    assert.doesNotMatch(error.message, /hidden/);
    return true;
  });
});
