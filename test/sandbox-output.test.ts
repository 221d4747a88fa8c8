import assert from "node:assert/strict";
import { test } from "node:test";
import { SandboxError } from "../sandbox/contract.ts";
import { callOf, type Line, logInto, openRoom, serve } from "./fixtures/sandbox-room.ts";

test("a result of 300 MB is refused, in whatever form it comes, and the next call is served", async (context) => {
  const room = openRoom(context, { limits: { workers: 3, isolateMemoryMb: 64, syncMs: 3000, callMs: 4000 } });
  const piece = room.piece({
    rope: "return 'x'.repeat(3e8);",
    list: "return Array.from({ length: 300 }, () => 'x'.repeat(1e6));",
    bytes: "return new Uint8Array(6e7);",
    message: "throw new Error('x'.repeat(3e8));",
    toJSON: "return { toJSON: () => 'x'.repeat(3e8) };",
    hijack:
      "Object.defineProperty(Object.prototype, 'then', { get() { return this instanceof ArrayBuffer ? (done) => done('x'.repeat(3e8)) : undefined; } }); return 1;",
    stringify: "JSON.stringify = () => 'x'.repeat(3e8); return 1;",
    file: "return context.files.write({ fileName: 'a', data: Buffer.alloc(6e7) });",
    good: "return 'good';",
  });
  for (const action of ["rope", "list", "bytes", "message", "toJSON", "hijack", "stringify", "file"]) {
    await assert.rejects(
      room.pool.run(callOf(piece, action)),
      (error) => {
        assert.ok(error instanceof SandboxError, action);
        assert.ok(error.message.length <= 600 && (error.piece?.name.length ?? 0) <= 200, action);
        return true;
      },
      action,
    );
    assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good", action);
  }
});

test("a result comes out as JSON carries it", async (context) => {
  const room = openRoom(context);
  const piece = room.piece({
    odd: `const self = { name: 'self', big: 12n, when: new Date(0), gone: undefined, fn: () => 1 };
      self.self = self;
      return { self, again: [self.big], ['__proto__']: { polluted: true }, constructor: { prototype: 1 } };`,
    nothing: "",
    shared: "const one = { a: 1 }; return [one, one];",
    bytes: "return { image: Buffer.from('hello'), raw: new Uint8Array([1, 2]) };",
  });
  const { result } = await room.pool.run(callOf(piece, "odd"));
  assert.equal(
    JSON.stringify(result),
    '{"self":{"name":"self","big":"12","when":"1970-01-01T00:00:00.000Z","self":"[circular]"},"again":["12"],"__proto__":{"polluted":true},"constructor":{"prototype":1}}',
  );
  assert.equal(Reflect.get({}, "polluted"), undefined);
  assert.equal((await room.pool.run(callOf(piece, "nothing"))).result, null);
  assert.deepEqual((await room.pool.run(callOf(piece, "shared"))).result, [{ a: 1 }, { a: 1 }]);
  const bytes = await room.pool.run(callOf(piece, "bytes"));
  assert.deepEqual(bytes.result, { image: "sandbox:file:0", raw: "sandbox:file:1" });
  assert.deepEqual(
    bytes.files.map(({ name, data }) => [name, Buffer.from(data).toString()]),
    [
      ["image.bin", "hello"],
      ["raw.bin", "\u0001\u0002"],
    ],
  );
});

test("files go in and out as bytes, within their limit", async (context) => {
  const room = openRoom(context, { limits: { fileBytes: 1000 } });
  const piece = room.piece({
    copy: `const { filename, extension, data, base64 } = context.propsValue.deep[0].file;
      return { url: await context.files.write({ fileName: 'copy.' + extension, data }), filename, base64 };`,
    missing: "return context.propsValue.file;",
    large: "return context.files.write({ fileName: 'a', data: Buffer.alloc(1001) });",
  });
  const props = { deep: [{ file: { "sandbox:file": 0 } }] };
  const files = [{ name: "hello.txt", data: Buffer.from("hello") }];
  const answer = await room.pool.run(callOf(piece, "copy", { props, files }));
  assert.deepEqual(answer.result, { url: "sandbox:file:0", filename: "hello.txt", base64: "aGVsbG8=" });
  assert.deepEqual(
    answer.files.map(({ name, data }) => [name, Buffer.from(data).toString()]),
    [["copy.txt", "hello"]],
  );
  await assert.rejects(room.pool.run(callOf(piece, "missing", { props: { file: { "sandbox:file": 3 } } })), {
    code: "piece_error",
  });
  await assert.rejects(room.pool.run(callOf(piece, "large")), { code: "result_too_large" });
  const large = [{ name: "a", data: new Uint8Array(1001) }];
  await assert.rejects(room.pool.run(callOf(piece, "copy", { props, files: large })), { code: "result_too_large" });
});

test("a flood of log lines ends at the budget of the call, and the next call has its own", async (context) => {
  const room = openRoom(context, { limits: { logBytes: 10_000 } });
  const piece = room.piece({
    flood: "for (let i = 0; i < 1e5; i++) console.log('z'.repeat(1000)); return 'done';",
    one: "console.warn('one', { a: [1, { b: 2 }] }); process.stderr.write('two'); return 1;",
    rope: "console.log('x'.repeat(1e7)); return 1;",
    patched: "String.prototype.slice = function () { return 'x'.repeat(3e8); }; console.log('abc'); return 1;",
    hostile:
      "console.log({ get a() { throw 1; }, [Symbol.for('nodejs.util.inspect.custom')]() { throw 2; } }); return 1;",
  });
  const lines: Line[] = [];
  const log = logInto(lines);
  assert.equal((await room.pool.run(callOf(piece, "flood", { log }))).result, "done");
  assert.equal(lines.length, 10);
  lines.length = 0;
  await room.pool.run(callOf(piece, "one", { log }));
  assert.deepEqual(
    lines.map(({ level, message }) => [level, message]),
    [
      ["warn", "one { a: [ 1, { b: 2 } ] }"],
      ["error", "two"],
    ],
  );
  for (const action of ["rope", "hostile", "patched"]) {
    lines.length = 0;
    const answer: unknown = await room.pool.run(callOf(piece, action, { log })).then(
      ({ result }) => result,
      (error: SandboxError) => error.code,
    );
    // A piece that makes its own lines endless runs into its own memory.
    assert.ok(answer === 1 || (action === "patched" && answer === "worker_oom"), `${action}: ${String(answer)}`);
    const bytes = lines.reduce((sum, { message }) => sum + message.length, 0);
    assert.ok(bytes <= 10_000, `${action}: ${bytes}`);
  }
});

test("a rejection that nobody catches fails neither its own call nor the next one", async (context) => {
  const room = openRoom(context, { limits: { callMs: 5000 } });
  const piece = room.piece({
    now: "Promise.reject(new Error('stray')); return 'mine';",
    awaited: "Promise.reject(new Error('stray')); await new Promise((done) => setTimeout(done, 5)); return 'mine';",
    later: "setTimeout(() => Promise.reject(new Error('stray')), 1); return 'mine';",
    thrown:
      "setTimeout(() => { throw new Error('stray'); }, 1); await new Promise((done) => setTimeout(done, 5)); return 'mine';",
    good: "return 'good';",
  });
  for (const action of ["now", "awaited", "later", "thrown"]) {
    assert.equal((await room.pool.run(callOf(piece, action))).result, "mine", action);
    assert.equal((await room.pool.run(callOf(piece, "good"))).result, "good", action);
  }
});

test("errors are told with name, code, status and at most 600 characters", async (context) => {
  const room = openRoom(context);
  const piece = room.piece({
    axios: `throw Object.assign(new Error('Request failed with status code 422'),
      { name: 'AxiosError', code: 'ERR_BAD_REQUEST', response: { status: 422, data: { detail: 'no such channel' } } });`,
    object: "throw { a: 1 };",
    text: "throw 'just text';",
    nothing: "throw undefined;",
    getter: "throw { get message() { throw new Error('inner'); } };",
    pause: "context.run.pause({});",
    socket: "require('net').connect(1);",
  });
  const failure = async (action: string): Promise<SandboxError> => {
    const error: unknown = await room.pool.run(callOf(piece, action)).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof SandboxError, action);
    return error;
  };
  assert.deepEqual((await failure("axios")).piece, {
    name: "AxiosError",
    code: "ERR_BAD_REQUEST",
    httpStatus: 422,
    message: 'Request failed with status code 422: {"detail":"no such channel"}',
  });
  assert.equal((await failure("object")).message, '{"a":1}');
  assert.equal((await failure("text")).message, "just text");
  assert.equal((await failure("nothing")).code, "piece_error");
  assert.match((await failure("getter")).message, /cannot be read/);
  for (const action of ["pause", "socket"]) assert.equal((await failure(action)).code, "unsupported_in_tool", action);
  await assert.rejects(room.pool.run(callOf(piece, "constructor")), { code: "no_such_action", processed: "no" });
});

test("a credential is taken out of results, errors, logs and names of files, in every usual form", async (context) => {
  const room = openRoom(context);
  const url = await serve(context, (request, response) => {
    response.statusCode = 400;
    response.end(`bad token in ${request.url} with ${request.headers.authorization}`);
  });
  const secret = 'to/ken "42" +secret';
  const piece = room.piece({
    echo: `const secret = context.auth.token;
      console.log('token is', secret);
      const buffer = Buffer.from(secret);
      await context.files.write({ fileName: secret + '.txt', data: 'x' });
      return { secret, [secret]: 1, url: 'https://a/?k=' + encodeURIComponent(secret), b64: buffer.toString('base64'),
        basic: 'Basic ' + Buffer.from('someone:' + secret).toString('base64'), form: new URLSearchParams({ secret }).toString(),
        plain: 'someone', escaped: JSON.stringify({ secret }) };`,
    fail: `const answer = await fetch(${JSON.stringify(url)} + '/' + encodeURIComponent(context.auth.token),
        { headers: { authorization: 'Bearer ' + btoa(context.auth.token) } });
      throw new Error(await answer.text());`,
  });
  const lines: Line[] = [];
  const more = { auth: { token: secret, user: "someone" }, secrets: [secret, "someone"], log: logInto(lines) };
  const { result, files } = await room.pool.run(callOf(piece, "echo", more));
  const thrown: unknown = await room.pool.run(callOf(piece, "fail", more)).catch((error: unknown) => error);
  assert.ok(thrown instanceof SandboxError && /bad token/.test(thrown.message), String(thrown));
  const told = JSON.stringify([result, files.map(({ name }) => name), lines, thrown.message, thrown.piece]);
  const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")];
  for (const form of [...forms, Buffer.from(`someone:${secret}`).toString("base64"), "to/ken", "%2242%22"]) {
    assert.ok(!told.includes(form) && !told.includes(JSON.stringify(form).slice(1, -1)), `${form} in ${told}`);
  }
  assert.ok(told.includes("[secret]"));
});
