import assert from "node:assert/strict";
import { test } from "node:test";
import { SandboxError } from "../sandbox/contract.ts";
import { callOf, openRoom } from "./fixtures/sandbox-room.ts";

const LIMITS = { syncMs: 300, callMs: 900, graceMs: 300, workers: 3 } as const;

/** Code that never ends by itself, and how. */
const ENDLESS: Readonly<Record<string, string>> = {
  "a loop": "for (;;);",
  "a loop after an await": "await null; for (;;);",
  "a loop after an answer of the worker": "await fetch('https://127.0.0.1:1/').catch(() => undefined); for (;;);",
  "a loop in a timer": "await new Promise(() => setTimeout(() => { for (;;); }, 5));",
  "a flood of microtasks": "for (;;) await null;",
  "microtasks that queue themselves":
    "const again = () => queueMicrotask(again); again(); await new Promise(() => {});",
  "timers that start themselves": "const again = () => setTimeout(again, 1); again(); await new Promise(() => {});",
  "a promise that never settles": "await new Promise(() => {});",
  "a regular expression": "return /^(a+)+$/.test('a'.repeat(40) + '!');",
  "an enormous number": "return String(3n ** (2n ** 26n)).length;",
  "a loop in toJSON": "return { toJSON() { for (;;); } };",
  "a loop in a getter of the error": "throw { get message() { for (;;); } };",
  "a then that loops": "return { then() { for (;;); } };",
  "a proxy that loops": "return new Proxy({}, { ownKeys() { for (;;); } });",
};

test("code that never ends is ended, and the next call of the same connection is served at once", async (context) => {
  const room = openRoom(context, { limits: LIMITS });
  const piece = room.piece({ ...ENDLESS, good: "return 'good';" });
  for (const name of Object.keys(ENDLESS)) {
    await context.test(name, async () => {
      await assert.rejects(room.pool.run(callOf(piece, name)), { name: "SandboxError", code: "worker_timeout" });
      assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
    });
  }
});

test("a loop while the bundle loads, and one while it is described, end as well", async (context) => {
  const room = openRoom(context, { limits: { ...LIMITS, loadMs: 300 } });
  const piece = room.piece({ good: "return 1;" }, { before: "for (;;);" });
  await assert.rejects(room.pool.run(callOf(piece, "good")), { code: "worker_timeout" });
  await assert.rejects(room.pool.describe(piece), (error) => error instanceof SandboxError);
  const next = room.piece({ good: "return 2;" });
  assert.equal((await room.pool.run(callOf(next, "good"))).result, 2);
});

test("only calls of the process that was stopped fail; another organization's goes on", async (context) => {
  const room = openRoom(context, { limits: { ...LIMITS, callMs: 3000, syncMs: 1000 } });
  const piece = room.piece({
    bad: "for (;;);",
    slow: "await new Promise((done) => setTimeout(done, 1500)); return 'slow';",
  });
  const other = room.pool.run(callOf(piece, "slow", { organization: "other" }));
  await assert.rejects(room.pool.run(callOf(piece, "bad")), { code: "worker_timeout" });
  assert.equal((await other).result, "slow");
});

test("six isolates that loop do not keep a seventh from answering", async (context) => {
  const room = openRoom(context, { limits: { workers: 8, syncMs: 120_000, callMs: 120_000, graceMs: 300 } });
  const piece = room.piece({ bad: "for (;;);", good: "return 'good';" });
  const abort = new AbortController();
  const loops = Array.from({ length: 6 }, (_, index) =>
    room.pool
      .run(callOf(piece, "bad", { organization: `bad ${index}`, signal: abort.signal }))
      .catch((error: SandboxError) => error.code),
  );
  assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
  assert.ok(room.pool.stats().busyWorkers > 0, "it answered while the others were still at it");
  abort.abort();
  assert.deepEqual(await Promise.all(loops), Array(6).fill("cancelled"));
});
