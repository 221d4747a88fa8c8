import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { buildRuntime } from "../sandbox/build.ts";
import { findNamespace, findNative, startWorker } from "../sandbox/launch.ts";
import { readFromWorker } from "../sandbox/protocol.ts";
import { CACHE, callOf, openRoom } from "./fixtures/sandbox-room.ts";

/** What somebody would try who had taken a worker over: plain JavaScript of the process, outside of any isolate. */
const TAKEN_OVER = `
const tries = {
  key: (f) => process.getBuiltinModule("node:fs").readFileSync(f.key, "utf8"),
  "key by a link": (f) => process.getBuiltinModule("node:fs").readFileSync(f.link, "utf8"),
  "key by a stream": (f) => new Promise((done, fail) => process.getBuiltinModule("node:fs").createReadStream(f.key).on("data", done).on("error", fail)),
  "key by open": (f) => process.getBuiltinModule("node:fs").openSync(f.key),
  "database as a file": (f) => process.getBuiltinModule("node:fs").readFileSync(f.database),
  "database by sqlite": (f) => new (process.getBuiltinModule("node:sqlite").DatabaseSync)(f.database).prepare("select a from t").get().a,
  "environment of the server": (f) => process.getBuiltinModule("node:fs").readFileSync("/proc/" + f.server + "/environ", "utf8"),
  "memory of the server": (f) => process.getBuiltinModule("node:fs").openSync("/proc/" + f.server + "/mem"),
  "a list of files": (f) => process.getBuiltinModule("node:fs").readdirSync(f.directory),
  "a file to write": (f) => process.getBuiltinModule("node:fs").writeFileSync(f.directory + "/written", "x"),
  "a child process": () => process.getBuiltinModule("node:child_process").spawnSync("id").status,
  "a thread": () => new (process.getBuiltinModule("node:worker_threads").Worker)("1", { eval: true }),
  "an internal binding": () => process.binding("fs"),
  "a module of the disk": (f) => process.getBuiltinModule("node:module").createRequire(f.key)(f.key),
  "the inspector": () => process.getBuiltinModule("node:inspector").open(0),
  wasi: (f) => new (process.getBuiltinModule("node:wasi").WASI)({ version: "preview1", preopens: { "/": f.directory } }),
};
process.on("message", async (facts) => {
  const answers = {};
  for (const [name, attempt] of Object.entries(tries)) {
    try { answers[name] = "got " + String(await attempt(facts)).slice(0, 40); } catch (error) { answers[name] = "refused"; }
  }
  answers.network = await new Promise((done) => {
    const socket = process.getBuiltinModule("node:net").connect(facts.port, "127.0.0.1");
    socket.on("connect", () => done("connected")).on("error", (error) => done(error.code));
  });
  process.send({ answers, env: Object.keys(process.env), cwd: process.cwd(), arguments: process.execArgv });
});
process.send("up");
`;

test("code that runs in a worker outside of any isolate gets neither the master key nor the database", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "taken-over-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const own = join(directory, "own");
  const data = join(directory, "data");
  for (const folder of [own, data]) mkdirSync(folder);
  writeFileSync(join(own, "worker.mjs"), TAKEN_OVER);
  writeFileSync(join(data, "master.key"), "the master key", { mode: 0o600 });
  const database = new DatabaseSync(join(data, "jackfield.db"));
  database.exec("create table t (a); insert into t values (42)");
  database.close();
  const server = createServer((_, response) => response.end("reached")).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());

  const namespace = await findNamespace();
  const child = startWorker({
    worker: join(own, "worker.mjs"),
    readable: [own],
    workingDirectory: own,
    native: findNative(),
    namespace,
  });
  context.after(() => child.kill("SIGKILL"));
  await once(child, "message");
  child.send({
    key: join(data, "master.key"),
    link: join(own, "..", "data", "master.key"),
    database: join(data, "jackfield.db"),
    directory: data,
    server: process.pid,
    port: (server.address() as AddressInfo).port,
  });
  const [answer] = (await once(child, "message")) as [
    { answers: Record<string, string>; env: string[]; cwd: string; arguments: string[] },
  ];
  const { network, ...others } = answer.answers;
  for (const [name, result] of Object.entries(others)) assert.equal(result, "refused", name);
  // Where the platform gives a namespace, there is no network at all.
  if (namespace !== undefined) assert.match(network ?? "", /^E(?:NETUNREACH|CONNREFUSED|ADDRNOTAVAIL)$/);
  assert.deepEqual(answer.env, []);
  assert.equal(answer.cwd, own);
  assert.ok(answer.arguments.includes("--permission") && answer.arguments.includes("--no-node-snapshot"));
});

test("the probe can tell: the same code in an ordinary process gets both", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "free-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "free.mjs"), TAKEN_OVER);
  writeFileSync(join(directory, "key"), "the master key");
  const database = new DatabaseSync(join(directory, "db"));
  database.exec("create table t (a); insert into t values (42)");
  database.close();
  const child = fork(join(directory, "free.mjs"), { env: {}, serialization: "advanced" });
  context.after(() => child.kill("SIGKILL"));
  await once(child, "message");
  const facts = { key: join(directory, "key"), link: join(directory, "key"), database: join(directory, "db") };
  child.send({ ...facts, directory, server: process.pid, port: 1 });
  const [{ answers }] = (await once(child, "message")) as [{ answers: Record<string, string> }];
  assert.equal(answers["key"], "got the master key");
  assert.equal(answers["database by sqlite"], "got 42");
});

test("a worker inherits no descriptor, no environment and an empty folder", {
  skip: process.platform !== "linux",
}, async (context) => {
  const room = openRoom(context);
  const piece = room.piece({ good: "return 1;" });
  await room.pool.run(callOf(piece, "good"));
  const { processes, networkNamespace } = room.pool.stats();
  for (const pid of processes) {
    const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    // Sockets are the channel and the pipe of last words, made for this child; the others are its own event loop's.
    const foreign = open.filter((to) => !/^(?:\/dev\/null|anon_inode:|pipe:|socket:)/.test(to));
    assert.deepEqual(foreign, []);
    assert.equal(readFileSync(`/proc/${pid}/environ`, "utf8").replace(/NODE_CHANNEL_\w+=[^\0]*\0/g, ""), "");
    assert.deepEqual(readdirSync(readlinkSync(`/proc/${pid}/cwd`)), []);
    if (networkNamespace) {
      assert.notEqual(readlinkSync(`/proc/${pid}/ns/net`), readlinkSync("/proc/self/ns/net"));
    }
  }
});

test("the worker's own bundle holds nothing of the server", async () => {
  const build = await buildRuntime(CACHE);
  const code = readFileSync(build.worker, "utf8");
  assert.doesNotMatch(code, /server\/|process\.env|DATABASE_URL|MASTER_KEY/);
});

test("a message of a worker that is not of the protocol is none", () => {
  const good = { type: "log", call: 1, level: "info", text: "x" };
  assert.deepEqual(readFromWorker({ ...good, more: 1 }), good);
  const request = {
    type: "request",
    call: 1,
    request: 1,
    method: "GET",
    url: "x",
    headers: [],
    body: new Uint8Array(),
  };
  assert.deepEqual(readFromWorker(request), request);
  for (const wrong of [
    undefined,
    "ready",
    { type: "other" },
    { ...good, level: "constructor" },
    { ...good, text: "x".repeat(5000) },
    { ...good, call: "1" },
    { ...request, headers: [["a"]] },
    { ...request, headers: Array(300).fill(["a", "b"]) },
    { ...request, body: "text" },
    { ...request, url: "x".repeat(20_000) },
    { type: "done", call: 1, retire: false, outcome: { ok: true, json: "{}", files: [] } },
    { type: "done", call: 1, retire: false, outcome: { ok: false, failure: { code: "sandbox_closed", message: "" } } },
    { type: "isolates", keys: [1] },
    { type: "built", data: "x", reason: "" },
  ]) {
    assert.equal(readFromWorker(wrong), undefined, JSON.stringify(wrong));
  }
});
