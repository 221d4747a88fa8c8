import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdapterSession, UpstreamError, type UpstreamErrorCode } from "../adapters/contract.ts";
import { mcpAdapter } from "../adapters/mcp/index.ts";
import { readConfig } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { testCall, testContext, textOf } from "./contract/adapter.ts";
import { startLegacyUpstream } from "./fixtures/upstreams/legacy.ts";
import { listen } from "./fixtures/upstreams/listen.ts";
import { type Manner, startMisbehaving } from "./fixtures/upstreams/misbehaving.ts";
import { startModernUpstream } from "./fixtures/upstreams/modern.ts";
import { startSseUpstream } from "./fixtures/upstreams/sse.ts";

const { allowPrivateUpstreams } = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback" });
const egress = createEgress({ allow: allowPrivateUpstreams, closed: () => [] });
test.after(() => egress.close());

const contextFor = (url: string, over: Parameters<typeof testContext>[1] = {}) =>
  testContext({ url }, { fetch: egress.upstreamFetch, ...over });

/** Opens a session with a misbehaving upstream; both end with the test. */
async function misbehaving(t: test.TestContext, manner: Manner) {
  const upstream = await startMisbehaving(manner);
  t.after(() => upstream.close());
  const context = contextFor(upstream.url);
  const session = await mcpAdapter.open(context);
  t.after(() => session.close());
  return { upstream, session, context };
}

/** Fails with this code; returns the error for more. */
async function failsWith(work: Promise<unknown>, code: UpstreamErrorCode): Promise<UpstreamError> {
  const error = await work.then(
    () => assert.fail("it did not fail"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UpstreamError, String(error));
  assert.equal(error.code, code, error.message);
  assert.ok(error.message.length <= 600);
  return error;
}

test("an upstream that answers 500 is told in its own words, and is no evidence for an old protocol", async (t) => {
  const upstream = await startMisbehaving("answers-500");
  t.after(() => upstream.close());
  const context = contextFor(upstream.url);
  const error = await failsWith(mcpAdapter.open(context), "upstream_status");
  assert.match(error.message, /HTTP 500: the database is on fire/);
  assert.equal(error.processed, "unknown");
  assert.equal(upstream.requests.length, 1);
  assert.equal(await context.memory.read(), undefined);
});

test("an upstream that refuses the credential is told apart, and never sees an initialize", async (t) => {
  const upstream = await startModernUpstream({ token: "right" });
  t.after(() => upstream.close());
  const secret = "wrong-s3cret";
  const context = contextFor(upstream.url, { credential: async () => ({ kind: "bearer", token: secret }) });
  const error = await failsWith(mcpAdapter.open(context), "authentication_required");
  assert.match(error.message, /requires authentication/);
  assert.ok(!error.message.includes(secret), "an upstream that echoes the credential does not make us tell it");
  assert.equal(error.processed, "no");
  assert.equal(upstream.requests.length, 1);

  const forbidding = await startMisbehaving("forbids");
  t.after(() => forbidding.close());
  const denied = await failsWith(mcpAdapter.open(contextFor(forbidding.url)), "authentication_required");
  assert.match(denied.message, /not for you/);
});

test("a credential that stops working makes the connection unhealthy, not forgotten", async (t) => {
  const upstream = await startModernUpstream({ token: "right" });
  t.after(() => upstream.close());
  let token = "right";
  const session = await mcpAdapter.open(
    contextFor(upstream.url, { credential: async () => ({ kind: "bearer", token }) }),
  );
  t.after(() => session.close());
  token = "revoked";
  const health = await session.check();
  assert.equal(health.state, "unhealthy");
  assert.equal(health.code, "authentication_required");
  token = "right";
  assert.deepEqual(await session.check(), { state: "healthy" });
});

for (const manner of ["answers-html", "answers-no-json"] as const) {
  test(`an upstream that ${manner} is no MCP server`, async (t) => {
    const upstream = await startMisbehaving(manner);
    t.after(() => upstream.close());
    await failsWith(mcpAdapter.open(contextFor(upstream.url)), "upstream_protocol");
  });
}

test("a huge error page is cut to a sentence", async (t) => {
  const upstream = await startMisbehaving("huge-error");
  t.after(() => upstream.close());
  const error = await failsWith(mcpAdapter.open(contextFor(upstream.url)), "upstream_status");
  assert.match(error.message, /HTTP 502: very very/);
});

test("nobody listening, a name that does not exist and a closed address are three things", async (t) => {
  const gone = await listen(() => undefined);
  await gone.close();
  const unreachable = await failsWith(mcpAdapter.open(contextFor(gone.url)), "upstream_unreachable");
  assert.equal(unreachable.processed, "no");
  await failsWith(mcpAdapter.open(contextFor("https://does-not-exist.invalid/mcp")), "upstream_unreachable");
  const blocked = await failsWith(mcpAdapter.open(contextFor("https://169.254.169.254/mcp")), "blocked_address");
  assert.ok(!blocked.message.includes("169.254"), "the caller learns nothing about our network");
  const own = await listen(() => undefined);
  t.after(() => own.close());
  const closed = createEgress({
    allow: allowPrivateUpstreams,
    closed: () => [{ host: "127.0.0.1", port: Number(new URL(own.url).port), own: true }],
  });
  t.after(() => closed.close());
  await failsWith(mcpAdapter.open(contextFor(own.url, { fetch: closed.upstreamFetch })), "loop_detected");
  assert.equal(own.requests.length, 0);
});

for (const [manner, code] of [
  ["dies-in-stream", "upstream_died"],
  ["dies-in-connection", "upstream_died"],
  ["streams-garbage", "upstream_died"],
  ["hangs-on-call", "upstream_timeout"],
] as const) {
  test(`an upstream that ${manner} ends the call with ${code}, once, and its outcome is unknown`, async (t) => {
    const { upstream, session } = await misbehaving(t, manner);
    const call = testCall(manner === "hangs-on-call" ? { timeoutMs: 100 } : {});
    const error = await failsWith(session.callTool("go", {}, call), code);
    assert.equal(error.processed, "unknown");
    assert.equal(upstream.calls(), 1, "nothing is sent again whose outcome is unknown");
  });
}

test("an upstream that hangs in everything is given up when the session must end", async (t) => {
  const upstream = await startMisbehaving("hangs");
  t.after(() => upstream.close());
  const abort = new AbortController();
  const opening = mcpAdapter.open(contextFor(upstream.url, { signal: abort.signal }));
  abort.abort(new Error("shutting down"));
  await assert.rejects(opening);
});

test("the maximum holds however much progress arrives", async (t) => {
  const upstream = await startLegacyUpstream();
  t.after(() => upstream.close());
  const session = await mcpAdapter.open(contextFor(upstream.url));
  t.after(() => session.close());
  const call = testCall({ timeoutMs: 10_000, maxTimeoutMs: 100, progress: () => undefined });
  await failsWith(session.callTool("wait", {}, call), "upstream_timeout");
});

test("a repeated cursor ends the list, one that never ends is an error", async (t) => {
  const repeating = await misbehaving(t, "repeats-cursor");
  assert.deepEqual(
    (await repeating.session.listTools()).map(({ name }) => name),
    ["one", "two"],
  );
  assert.ok(repeating.context.log.entries.some(({ message }) => message.includes("repeats a cursor")));
  const endless = await misbehaving(t, "endless-list");
  const error = await failsWith(endless.session.listTools(), "upstream_protocol");
  assert.match(error.message, /does not end/);
});

test("one upstream that hangs does not touch another", async (t) => {
  const hanging = await misbehaving(t, "hangs-on-call");
  const healthy = await startLegacyUpstream();
  t.after(() => healthy.close());
  const session = await mcpAdapter.open(contextFor(healthy.url));
  t.after(() => session.close());
  const stuck = failsWith(hanging.session.callTool("go", {}, testCall({ timeoutMs: 500 })), "upstream_timeout");
  assert.equal(textOf(await session.callTool("echo", { text: "fine" }, testCall())), "fine");
  await stuck;
});

for (const [kind, start] of [
  ["modern", startModernUpstream],
  ["legacy", startLegacyUpstream],
  ["SSE", startSseUpstream],
] as const) {
  test(`${kind}: connections that break in mid-call end it, and the next call connects again`, async (t) => {
    const upstream = await start();
    t.after(() => upstream.close());
    const session: AdapterSession = await mcpAdapter.open(contextFor(upstream.url));
    t.after(() => session.close());
    const cut = testCall({ progress: () => upstream.cut() });
    const error = await failsWith(session.callTool("wait", {}, cut), "upstream_died");
    assert.equal(error.processed, "unknown");
    assert.equal(textOf(await session.callTool("echo", { text: "again" }, testCall())), "again");
  });
}
