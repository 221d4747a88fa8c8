import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, openRoom } from "./fixtures/sandbox-room.ts";

/** Ways to something outside. Each must end inside: with an error, or with `inside`. */
const HUNTS: Readonly<Record<string, string>> = {
  "the constructor of a function of the runtime":
    "return fetch.constructor('return process.mainModule === undefined ? \\'inside\\' : \\'outside\\'')();",
  "the global object by a plain function": "return Function('return this')() === globalThis ? 'inside' : 'outside';",
  "the constructor of a constructor":
    "return this.constructor.constructor('return this')() === globalThis ? 'inside' : 'outside';",
  "the prototype of an error of the worker":
    "try { require('crypto').createHash('none').digest(); return 'no error'; } catch (error) { return error.constructor === Error || error instanceof Error ? 'inside' : 'outside ' + error.constructor; }",
  "the function behind an error of the worker":
    "try { require('crypto').createHmac('none', 'key').digest(); return 'no error'; } catch (error) { return error.constructor.constructor('return this')() === globalThis ? 'inside' : 'outside'; }",
  "process.binding": "return process.binding('fs');",
  "process.dlopen": "return process.dlopen({}, '/lib/x.so');",
  "process.mainModule": "return process.mainModule.require('fs');",
  "a child process": "return require('child_process').execSync('id').toString();",
  "a child process by its other name": "return require('node:child_process').spawn('id');",
  "a worker thread": "return new (require('worker_threads').Worker)('1', { eval: true });",
  "another context": "return require('vm').runInNewContext('this.constructor.constructor(\"return process\")()');",
  "a file": "return require('fs').readFileSync('/etc/passwd', 'utf8');",
  "a file later": "return require('fs/promises').readFile('/etc/passwd', 'utf8');",
  "a file to write": "return require('fs').writeFileSync('/tmp/sandbox-escape', 'x');",
  "a database": "return new (require('node:sqlite').DatabaseSync)('/tmp/x');",
  "a module of the disk": "return require('/etc/passwd');",
  createRequire: "return require('module').createRequire('/')('fs').readFileSync('/etc/passwd');",
  "a socket": "return require('net').connect(80, '127.0.0.1');",
  "a name": "return require('dns').promises.lookup('localhost');",
  "an import": "return (await import('node:fs')).readFileSync('/etc/passwd', 'utf8');",
  "an import by eval": "return (await (0, eval)(\"import('fs')\")).readFileSync('/etc/passwd', 'utf8');",
  "the callers of a function":
    "return (function () { for (let it = arguments.callee.caller, n = 0; it && n < 50; it = it.caller, n += 1) if (!(it instanceof Function)) return 'outside'; return 'inside'; })();",
  "a stack of real calls":
    "Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getThis()); return (new Error('x').stack.some((it) => it !== undefined && it !== globalThis && it.process)) ? 'outside' : 'inside';",
  "the inspector": "return require('inspector').open();",
};

test("a hunt for process, require, import and constructors ends inside", async (context) => {
  const room = openRoom(context);
  const piece = room.piece(HUNTS);
  for (const name of Object.keys(HUNTS)) {
    const answer: unknown = await room.pool.run(callOf(piece, name)).then(
      ({ result }) => result,
      (error: { code: string }) => error.code,
    );
    assert.ok(
      ["inside", "piece_error", "unsupported_in_tool", false].includes(answer as string),
      `${name}: ${String(answer)}`,
    );
  }
});

test("an isolate has no global of ours, an empty environment and no trace of this machine", async (context) => {
  const room = openRoom(context);
  const piece = room.piece({
    see: `return {
      globals: Reflect.ownKeys(globalThis).map(String).filter((name) => /sandbox|host|ivm|isolate/i.test(name)),
      env: process.env, argv: process.argv, cwd: process.cwd(), pid: process.pid,
      host: require('os').hostname(), home: require('os').homedir(), interfaces: require('os').networkInterfaces(),
      stack: new Error('x').stack };`,
  });
  const { result } = await room.pool.run(callOf(piece, "see"));
  const { stack, ...seen } = result as { stack: string };
  assert.deepEqual(seen, {
    globals: [],
    env: {},
    argv: ["node"],
    cwd: "/",
    pid: 1,
    host: "sandbox",
    home: "/",
    interfaces: {},
  });
  assert.doesNotMatch(stack, /node_modules|\/(?!piece)\w+\/\w+\.(?:ts|mjs)/);
});

test("functions of the worker take nothing but texts, numbers and bytes, whatever a piece makes of built-ins", async (context) => {
  const room = openRoom(context);
  const piece = room.piece({
    proxies: `const trap = new Proxy({}, { get() { throw new Error('trap'); } });
      const tries = [() => fetch(trap), () => new Request('https://a.example', { headers: trap }),
        () => setTimeout(() => {}, trap), () => require('crypto').createHmac('sha256', trap),
        () => require('crypto').createHash(trap).update('').digest(), () => console.log(trap)];
      const answers = [];
      for (const attempt of tries) { try { await attempt(); answers.push('ok'); } catch (error) { answers.push(error.constructor === undefined ? 'foreign' : 'error'); } }
      return answers;`,
    builtins: `JSON.stringify = () => '{"algorithm":"sha256"'; Array.prototype.map = () => [1, 2]; Map.prototype.get = () => 1;
      Array.prototype[Symbol.iterator] = function* () { yield 'x'.repeat(1e6); };
      try { require('crypto').createHash('sha256').update('a').digest('hex'); return 'odd'; } catch { return 'refused'; }`,
    good: "return require('crypto').createHash('sha256').update('a').digest('hex').slice(0, 8);",
  });
  const { result } = await room.pool.run(callOf(piece, "proxies"));
  assert.ok(Array.isArray(result) && result.every((answer) => answer === "ok" || answer === "error"), String(result));
  await room.pool.run(callOf(piece, "builtins")).catch((error: { code: string }) => {
    assert.match(error.code, /^(?:piece_error|result_too_large|worker_timeout)$/);
  });
  const other = { key: { connection: "other", credentialRevision: "1" } };
  assert.equal((await room.pool.run(callOf(piece, "good", other))).result, "ca978112");
});

test("built-ins that one connection patched are whole for the next one, and for a new credential", async (context) => {
  const room = openRoom(context, { limits: { workers: 1 } });
  const piece = room.piece({
    patch: `globalThis.mark = 'was here'; module = undefined;
      Promise.prototype.catch = function () { return 'owned'; }; Object.prototype.owned = 'owned'; return 1;`,
    look: "return [typeof mark, Promise.prototype.catch.toString().includes('native'), typeof {}.owned];",
  });
  const owner = { key: { connection: "first", credentialRevision: "1" } };
  await room.pool.run(callOf(piece, "patch", owner)).catch(() => undefined);
  for (const key of [
    { connection: "second", credentialRevision: "1" },
    { connection: "first", credentialRevision: "2" },
  ]) {
    assert.deepEqual((await room.pool.run(callOf(piece, "look", { key }))).result, ["undefined", true, "undefined"]);
  }
});

test("an isolate is used again by its own connection only, and is fresh after any error", async (context) => {
  const room = openRoom(context);
  const piece = room.piece({
    count: "globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count;",
    fail: "throw new Error('bad');",
  });
  const count = async (connection = "a", credentialRevision = "1"): Promise<unknown> =>
    (await room.pool.run(callOf(piece, "count", { key: { connection, credentialRevision } }))).result;
  assert.equal(await count(), 1);
  assert.equal(await count(), 2, "warm");
  assert.equal(await count("b"), 1);
  assert.equal(await count("a", "2"), 1);
  assert.equal(await count(), 3);
  await assert.rejects(room.pool.run(callOf(piece, "fail", { key: { connection: "a", credentialRevision: "1" } })));
  assert.equal(await count(), 1, "fresh after an error");
});
