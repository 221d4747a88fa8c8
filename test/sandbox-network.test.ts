import assert from "node:assert/strict";
import { test } from "node:test";
import { SandboxError } from "../sandbox/contract.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { callOf, openRoom, serve } from "./fixtures/sandbox-room.ts";

const SEND = {
  fetch: "const answer = await fetch(context.propsValue.url); return answer.status;",
  http: `const { url } = context.propsValue; const module = require(url.startsWith('https') ? 'https' : 'http');
    return new Promise((done, fail) => module.get(url, (answer) => { answer.resume(); done(answer.statusCode); }).on('error', fail));`,
  raw: `return new Promise((done, fail) => require('https').get({ hostname: context.propsValue.url.slice(8, -1) }, done).on('error', fail));`,
  swallow: "try { await fetch(context.propsValue.url); } catch { throw new Error('status 500'); }",
};

/** Private places in the notations that parsers of URLs and resolvers know. */
const PRIVATE = [
  ...["http://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f.0.0.1/", "https://0177.0.0.1/"],
  ...["https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://0.0.0.0/", "https://[::]/"],
  ...["https://10.0.0.1/", "https://192.168.1.1/", "https://172.16.0.1/", "https://100.64.0.1/", "https://[fd00::1]/"],
  ...[
    "http://169.254.169.254/latest/meta-data",
    "https://[fe80::1]/",
    "https://[64:ff9b::a00:1]/",
    "https://localhost/",
  ],
  ...["https://127.0.0.1.:443/", "https://user:pass@127.0.0.1/", "https://[2002:7f00:1::]/"],
];

test("no notation of a private address reaches it, and the host's refusal wins over the piece's error", async (context) => {
  const egress = createEgress({ allow: [], closed: () => [] });
  context.after(() => egress.close());
  const room = openRoom(context, { fetch: egress.upstreamFetch });
  const piece = room.piece(SEND);
  const calls = PRIVATE.flatMap((url) =>
    (url.includes("@") ? ["fetch"] : ["fetch", "http", "swallow"]).map((action) => [action, url] as const),
  );
  for (const [action, url] of [...calls, ["raw", "https://①②⑦.⓪.⓪.①/"] as const]) {
    await assert.rejects(room.pool.run(callOf(piece, action, { props: { url } })), (error) => {
      assert.ok(error instanceof SandboxError, url);
      assert.equal(error.code, "blocked_address", `${action} ${url}: ${error.message}`);
      assert.equal(error.processed, "no");
      assert.equal(error.refusal?.code, "blocked_address");
      return true;
    });
  }
});

test("each hop of a redirect is looked at again, and credentials do not follow to another origin", async (context) => {
  const seen: [string, string | undefined][] = [];
  const other = await serve(context, (request, response) => {
    seen.push([request.url ?? "", request.headers.authorization]);
    response.end("{}");
  });
  const url = await serve(context, (request, response) => {
    const path = request.url ?? "";
    seen.push([path, request.headers.authorization]);
    const to = path === "/metadata" ? "http://169.254.169.254/latest" : path === "/own" ? "/here" : `${other}/there`;
    response.writeHead(path === "/here" ? 200 : 302, { location: to }).end();
  });
  const room = openRoom(context);
  const piece = room.piece({
    get: "const answer = await fetch(context.propsValue.url, { headers: { authorization: 'Bearer key' } }); return [answer.url, answer.redirected];",
  });
  const run = (path: string) => room.pool.run(callOf(piece, "get", { props: { url: url + path } }));
  assert.deepEqual((await run("/own")).result, [`${url}/here`, true]);
  assert.deepEqual((await run("/foreign")).result, [`${other}/there`, true]);
  await assert.rejects(run("/metadata"), { code: "blocked_address" });
  assert.deepEqual(seen, [
    ["/own", "Bearer key"],
    ["/here", "Bearer key"],
    ["/foreign", "Bearer key"],
    ["/there", undefined],
    ["/metadata", "Bearer key"],
  ]);
});

test("of ten thousand requests in one call as many leave as a call may send", async (context) => {
  let arrived = 0;
  const url = await serve(context, (_, response) => {
    arrived += 1;
    response.end("{}");
  });
  const room = openRoom(context);
  const piece = room.piece({
    flood: `const url = context.propsValue.url;
      const all = await Promise.allSettled(Array.from({ length: 10000 }, () => fetch(url)));
      return all.filter(({ status }) => status === 'fulfilled').length;`,
    one: "return (await fetch(context.propsValue.url)).status;",
  });
  assert.equal((await room.pool.run(callOf(piece, "flood", { props: { url } }))).result, 50);
  assert.equal(arrived, 50);
  assert.equal((await room.pool.run(callOf(piece, "one", { props: { url } }))).result, 200);
});

test("bodies have a limit each way, and headers of the connection itself are not a piece's to set", async (context) => {
  let headers: NodeJS.Dict<string | string[]> = {};
  const url = await serve(context, (request, response, body) => {
    ({ headers } = request);
    response.setHeader("content-type", "text/plain");
    response.end(request.url === "/large" ? "x".repeat(2000) : String(body.length));
  });
  const room = openRoom(context, { limits: { requestBodyBytes: 1000, responseBodyBytes: 1000 } });
  const piece = room.piece({
    post: `const { url, size } = context.propsValue;
      const headers = { host: 'other.example', connection: 'upgrade', 'content-length': '5', te: 'trailers',
        'proxy-authorization': 'x', 'transfer-encoding': 'chunked', 'x-own': 'kept' };
      const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(size), headers });
      return [await answer.text(), answer.headers.get('content-length')];`,
  });
  const post = (path: string, size: number) =>
    room.pool.run(callOf(piece, "post", { props: { url: url + path, size } }));
  assert.deepEqual((await post("/", 1000)).result, ["1000", null]);
  assert.equal(headers["x-own"], "kept");
  assert.equal(headers.host, new URL(url).host);
  assert.equal(headers["content-length"], "1000");
  for (const name of ["te", "proxy-authorization", "transfer-encoding"]) assert.equal(headers[name], undefined, name);
  await assert.rejects(post("/", 1001), { code: "piece_error", message: /fetch failed/ });
  await assert.rejects(post("/large", 1), { code: "piece_error", processed: "unknown" });
});

test("a request that nobody answers ends with its call, and the service sees it go", async (context) => {
  const gone = Promise.withResolvers<void>();
  const url = await serve(context, (_, response) => {
    response.on("close", () => gone.resolve());
  });
  const room = openRoom(context, { limits: { callMs: 500 } });
  const piece = room.piece({ wait: "await fetch(context.propsValue.url);" });
  await assert.rejects(room.pool.run(callOf(piece, "wait", { props: { url } })), {
    code: "worker_timeout",
    processed: "unknown",
  });
  await gone.promise;
});
