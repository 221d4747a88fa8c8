import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { SandboxError } from "../sandbox/contract.ts";
import { LIMITS, resolveLimits } from "../sandbox/limits.ts";
import { callOf, openRoom, serve } from "./fixtures/sandbox-room.ts";

/** A service that holds its answers until the test lets them go. */
async function holding(context: Parameters<typeof serve>[0]) {
  let arrived = 0;
  const waiting: (() => void)[] = [];
  const listeners: (() => void)[] = [];
  const url = await serve(context, (_, response) => {
    arrived += 1;
    waiting.push(() => response.end("{}"));
    for (const listener of listeners.splice(0)) listener();
  });
  return {
    url,
    count: () => arrived,
    release: () => {
      for (const go of waiting.splice(0)) go();
    },
    async until(count: number): Promise<void> {
      while (arrived < count) await new Promise<void>((resolve) => listeners.push(resolve));
    },
  };
}

const GET = { get: "return (await fetch(context.propsValue.url)).status;", good: "return 'good';" };

test("a process killed in mid-call fails its calls once, sends nothing again, and the pool is back", async (context) => {
  const service = await holding(context);
  const room = openRoom(context, { limits: { workers: 2, spareWorkers: 0 } });
  const piece = room.piece(GET);
  const call = room.pool.run(callOf(piece, "get", { props: { url: service.url } }));
  await service.until(1);
  const [busy] = room.pool.stats().processes;
  for (const pid of room.pool.stats().processes) process.kill(pid, "SIGKILL");
  await assert.rejects(call, { name: "SandboxError", code: "worker_died", processed: "unknown" });
  assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
  assert.equal(service.count(), 1, "the write was not sent again");
  assert.ok(busy !== undefined && !room.pool.stats().processes.includes(busy));
});

test("a process serves one organization, and calls of one connection at a time", async (context) => {
  const service = await holding(context);
  const room = openRoom(context, { limits: { workers: 4, spareWorkers: 0 } });
  const piece = room.piece(GET);
  const props = { url: service.url };
  const at = (organization: string, connection: string) =>
    room.pool.run(callOf(piece, "get", { props, organization, key: { connection, credentialRevision: "1" } }));
  const calls = [at("one", "a"), at("one", "a"), at("one", "b"), at("two", "a")];
  await service.until(4);
  assert.equal(room.pool.stats().workers, 3, "two calls of one connection share a process, the others do not");
  assert.equal(room.pool.stats().callsInFlight, 4);
  service.release();
  await Promise.all(calls);
  const before = room.pool.stats().processes;
  await room.pool.run(
    callOf(piece, "good", { organization: "one", key: { connection: "b", credentialRevision: "1" } }),
  );
  assert.deepEqual(room.pool.stats().processes, before, "an idle process of the organization is used again");
});

test("where all processes belong to others, an idle one is ended for a new organization", async (context) => {
  const room = openRoom(context, { limits: { workers: 1 } });
  const piece = room.piece(GET);
  await room.pool.run(callOf(piece, "good", { organization: "one" }));
  const [first] = room.pool.stats().processes;
  await room.pool.run(callOf(piece, "good", { organization: "two" }));
  const [second] = room.pool.stats().processes;
  assert.notEqual(first, second);
  assert.equal(room.pool.stats().workers, 1);
});

test("who waits is served fairly, at most so many wait, and who waits too long is told so", async (context) => {
  const service = await holding(context);
  const room = openRoom(context, { limits: { workers: 1, callsPerWorker: 1, queue: 3 } });
  const piece = room.piece(GET);
  const props = { url: service.url };
  const busy = room.pool.run(callOf(piece, "get", { props, organization: "greedy" }));
  await service.until(1);
  const order: string[] = [];
  const wait = (organization: string) =>
    room.pool.run(callOf(piece, "good", { organization })).then(() => order.push(organization));
  const waiting = [wait("greedy"), wait("modest")];
  const soon = room.pool.run(callOf(piece, "good", { organization: "late", deadline: Date.now() + 200 }));
  await assert.rejects(soon, { code: "sandbox_busy", processed: "no" });
  const last = wait("third");
  await assert.rejects(room.pool.run(callOf(piece, "good")), { code: "sandbox_busy", processed: "no" });
  service.release();
  await Promise.all([busy, ...waiting, last]);
  assert.equal(order.length, 3);
});

test("a cancelled call is told at once, leaves its isolate to nobody, and its request is ended", async (context) => {
  const service = await holding(context);
  const room = openRoom(context);
  const piece = room.piece(GET);
  const abort = new AbortController();
  const call = room.pool.run(callOf(piece, "get", { props: { url: service.url }, signal: abort.signal }));
  await service.until(1);
  abort.abort();
  await assert.rejects(call, { code: "cancelled", processed: "unknown" });
  await assert.rejects(room.pool.run(callOf(piece, "good", { signal: abort.signal })), {
    code: "cancelled",
    processed: "no",
  });
  assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
});

test("in strict mode every call has a process of its own; else one is replaced after so many calls", async (context) => {
  const strict = openRoom(context, { limits: { processPerCall: true, workers: 2, spareWorkers: 1 } });
  const count = { count: "globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count;" };
  const piece = strict.piece(count);
  for (let index = 0; index < 3; index++) {
    assert.equal((await strict.pool.run(callOf(piece, "count"))).result, 1);
  }
  const recycled = openRoom(context, { limits: { recycleAfterCalls: 2 } });
  const other = recycled.piece(count);
  const answers: unknown[] = [];
  for (let index = 0; index < 4; index++) answers.push((await recycled.pool.run(callOf(other, "count"))).result);
  assert.deepEqual(answers, [1, 2, 1, 2]);
});

test("isolates beyond their number go, the oldest first; idle ones and idle processes go by time", async (context) => {
  const room = openRoom(context, { limits: { isolatesPerWorker: 2, callsPerWorker: 1, idleIsolateMs: 60_000 } });
  const piece = room.piece({ count: "globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count;" });
  const at = async (connection: string): Promise<unknown> =>
    (await room.pool.run(callOf(piece, "count", { key: { connection, credentialRevision: "1" } }))).result;
  assert.deepEqual([await at("a"), await at("b"), await at("a"), await at("c")], [1, 1, 2, 1]);
  assert.deepEqual([await at("a"), await at("b")], [3, 1], "b was the one that waited longest");
  const brief = openRoom(context, { limits: { idleIsolateMs: 1, idleWorkerMs: 1 } });
  const other = brief.piece({ count: "globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count;" });
  await brief.pool.run(callOf(other, "count"));
  while (brief.pool.stats().workers > 0) await new Promise((resolve) => setImmediate(resolve));
});

test("a bundle that is missing or broken says so, and does not stop the next one", async (context) => {
  const room = openRoom(context);
  const missing = { piece: "missing@1.0.0", hash: "0".repeat(64) };
  await assert.rejects(room.pool.run(callOf(missing, "x")), { code: "piece_unloadable", message: /not installed/ });
  await assert.rejects(room.pool.run(callOf({ piece: "x@1", hash: "../../etc" }, "x")), { code: "piece_unloadable" });
  for (const before of [
    "throw new Error('no luck');",
    "syntax error here",
    "exports = 1; module.exports = { other: 1 }; return;",
  ]) {
    const broken = room.piece({ x: "" }, { before });
    await assert.rejects(room.pool.run(callOf(broken, "x")), { code: "piece_unloadable" }, before);
    await assert.rejects(room.pool.describe(broken), { code: "piece_unloadable" }, before);
  }
  assert.equal((await room.pool.run(callOf(room.piece(GET), "good"))).result, "good");
});

test("caches are made here, by processes that ran no piece, and are ours alone to read", async (context) => {
  const directory = openRoom(context).directory;
  const cacheDirectory = join(directory, "cache");
  const room = openRoom(context, { cacheDirectory });
  const piece = room.piece(GET);
  await room.pool.describe(piece);
  assert.equal(statSync(cacheDirectory).mode & 0o777, 0o700);
  const [key] = (await readdir(cacheDirectory)).filter((name) => name !== "empty");
  assert.ok(key !== undefined);
  const files = await readdir(join(cacheDirectory, key));
  assert.deepEqual(files.sort(), [`${piece.hash}.cache`, "runtime.js", "runtime.snapshot", "worker.mjs"].sort());
  for (const file of files) assert.equal((await stat(join(cacheDirectory, key, file))).mode & 0o777, 0o600, file);
  assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
});

test("a closed pool ends everything and takes nothing more", async (context) => {
  const service = await holding(context);
  const room = openRoom(context);
  const piece = room.piece(GET);
  const call = room.pool.run(callOf(piece, "get", { props: { url: service.url } }));
  await service.until(1);
  const { processes } = room.pool.stats();
  const ended = assert.rejects(call, { code: "sandbox_closed" });
  await room.pool.close();
  await ended;
  await assert.rejects(room.pool.run(callOf(piece, "good")), (error) => error instanceof SandboxError);
  for (const pid of processes) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("options and validation are asked of the piece", async (context) => {
  const room = openRoom(context);
  const auth =
    "{ type: 'SECRET_TEXT', validate: async ({ auth }) => auth === 'good' ? { valid: true } : { valid: false, error: 'no' } }";
  const bundle = room.piece({ act: "" }, { auth, before: "" });
  const base = { bundle, key: { connection: "a", credentialRevision: "1" }, organization: "o" };
  assert.deepEqual(await room.pool.validate({ ...base, auth: "good" }), { supported: true, valid: true });
  assert.deepEqual(await room.pool.validate({ ...base, auth: "bad" }), { supported: true, valid: false, error: "no" });
  assert.deepEqual(await room.pool.validate({ ...base, bundle: room.piece(GET) }), { supported: false });
  await assert.rejects(room.pool.options({ ...base, action: "act", prop: "x", values: {} }), {
    code: "no_such_action",
  });
  assert.deepEqual((await room.pool.describe(bundle)).auth, [{ type: "SECRET_TEXT", functions: ["validate"] }]);
});

test("a limit out of its bounds is refused by name", () => {
  for (const [name, [standard, least, most]] of Object.entries(LIMITS)) {
    assert.ok(standard >= least && standard <= most, name);
    assert.throws(() => resolveLimits({ [name]: least - 1 }), new RegExp(name));
    assert.throws(() => resolveLimits({ [name]: 0.5 }), new RegExp(name));
  }
  assert.equal(resolveLimits({ callsPerWorker: 20 }).isolatesPerWorker, 20);
});
