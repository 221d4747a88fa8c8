import assert from "node:assert/strict";
import { test } from "node:test";
import { SandboxError } from "../sandbox/contract.ts";
import { callOf, openRoom } from "./fixtures/sandbox-room.ts";

const LIMITS = { isolateMemoryMb: 40, workerMemoryMb: 300, syncMs: 3000, callMs: 5000, workers: 3 } as const;

/** Code that takes memory without end; several of these end the whole process in isolated-vm. */
const BOMBS: Readonly<Record<string, string>> = {
  "arrays of arrays": "const all = []; for (;;) all.push(new Array(1e4).fill(all.length));",
  "a set of objects": "const all = new Set(); for (let i = 0; ; i++) all.add({ i });",
  "a map of numbers": "const all = new Map(); for (let i = 0; ; i++) all.set(i, i);",
  "an array filled to the end": "return new Array(2 ** 32 - 2).fill(1).length;",
  "a spread text": "return [...'.'.repeat(5e8)].length;",
  "growth between awaits": "const all = []; for (;;) { await null; all.push('y'.repeat(1e5) + all.length); }",
  "bytes turned into an array":
    "const bytes = new Uint8Array(2e7); const all = new Array(bytes.length); for (let i = bytes.length; i--; ) all[i] = { i };",
  "a joined array":
    "const all = []; for (;;) all.push(Array(1e6).join('abcdefgh') + all.length, new Array(1e5).fill({}));",
  closures:
    "let last = () => 0; for (;;) { const before = last; last = () => before; last.data = new Array(100).fill(1); }",
};

test("code that takes memory without end costs its own process only, and the next call is served", async (context) => {
  const room = openRoom(context, { limits: LIMITS });
  const piece = room.piece({ ...BOMBS, good: "return 'good';" });
  for (const name of Object.keys(BOMBS)) {
    await context.test(name, async () => {
      await assert.rejects(room.pool.run(callOf(piece, name)), (error) => {
        assert.ok(error instanceof SandboxError);
        // What V8 notices late ends by time instead.
        assert.match(error.code, /^worker_(?:oom|timeout)$/, error.message);
        return true;
      });
      assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
    });
  }
});

test("growth that V8 counts is an error inside, which a piece may survive", async (context) => {
  const room = openRoom(context, { limits: LIMITS });
  const piece = room.piece({
    buffers:
      "const all = []; try { for (;;) all.push(new Uint8Array(8e6).fill(1)); } catch (error) { return error.name; }",
    text: "let text = 'x'; try { for (;;) text += text; } catch (error) { return error.name; }",
    recursion: "const deeper = () => deeper() + 1; try { deeper(); } catch (error) { return error.name; }",
    depth: "try { return JSON.parse('['.repeat(1e6)); } catch (error) { return error.name; }",
  });
  for (const [action, name] of Object.entries({
    buffers: "RangeError",
    text: "RangeError",
    recursion: "RangeError",
    depth: "SyntaxError",
  })) {
    const answer = await room.pool.run(callOf(piece, action)).then(
      ({ result }) => result,
      // V8 may end the isolate instead of giving the error.
      (error: SandboxError) => error.code,
    );
    assert.ok(answer === name || answer === "worker_oom", `${action}: ${String(answer)}`);
  }
});

test("a process is killed at its own limit of memory, whatever V8 counts", async (context) => {
  const room = openRoom(context, { limits: { ...LIMITS, isolateMemoryMb: 2048, workerMemoryMb: 250 } });
  const piece = room.piece({
    // One at a time, so that the watchdog and not the end of memory decides.
    bad: "const all = []; for (;;) { all.push(new Uint8Array(4e6).fill(1)); await new Promise((done) => setTimeout(done, 1)); }",
    good: "return 'good';",
  });
  await assert.rejects(room.pool.run(callOf(piece, "bad")), { code: "worker_oom" });
  assert.equal(room.pool.stats().killed, 1);
  assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
});

test("memory of WebAssembly, which V8 does not count, is not there unless the piece ships some", async (context) => {
  const room = openRoom(context, { limits: { ...LIMITS, workerMemoryMb: 300 } });
  const kinds = "return ['WebAssembly', 'SharedArrayBuffer', 'Atomics'].filter((name) => name in globalThis);";
  const without = room.piece({ kinds });
  assert.deepEqual((await room.pool.run(callOf(without, "kinds"))).result, []);
  const grow = `const all = [];
    for (;;) {
      const memory = new WebAssembly.Memory({ initial: 500 });
      new Uint8Array(memory.buffer).fill(1);
      all.push(memory);
      await new Promise((done) => setTimeout(done, 1));
    }`;
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  const shipped = room.piece({ grow, kinds: `${kinds}\n` }, { files: { "empty.wasm": empty } });
  assert.deepEqual((await room.pool.run(callOf(shipped, "kinds"))).result, [
    "WebAssembly",
    "SharedArrayBuffer",
    "Atomics",
  ]);
  await assert.rejects(room.pool.run(callOf(shipped, "grow")), { code: "worker_oom" });
  assert.deepEqual((await room.pool.run(callOf(without, "kinds"))).result, []);
});

test("waiting on shared memory and a loop in WebAssembly end by time", async (context) => {
  const room = openRoom(context, { limits: { ...LIMITS, syncMs: 300, callMs: 1000, graceMs: 300 } });
  // (module (func (export "f") (loop br 0)))
  const bytes = "0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11";
  const piece = room.piece(
    {
      wait: "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9); return 1;",
      loop: `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([${bytes}]))).exports.f();`,
      good: "return 'good';",
    },
    { files: { "empty.wasm": new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]) } },
  );
  for (const action of ["wait", "loop"]) {
    await assert.rejects(room.pool.run(callOf(piece, action)), { code: "worker_timeout" });
    assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good");
  }
});
