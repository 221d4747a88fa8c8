import assert from "node:assert/strict";
import { test } from "node:test";
import { type AdapterContext, type Change, type Question, UpstreamRpcError } from "../adapters/contract.ts";
import { mcpAdapter } from "../adapters/mcp/index.ts";
import { readConfig } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { resultOf, testCall, testContext, textOf } from "./contract/adapter.ts";
import { TOOLS } from "./fixtures/upstreams/behaviour.ts";
import { startLegacyUpstream } from "./fixtures/upstreams/legacy.ts";
import { startModernUpstream } from "./fixtures/upstreams/modern.ts";
import { startSseUpstream } from "./fixtures/upstreams/sse.ts";

const egress = createEgress({
  allow: readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback" }).allowPrivateUpstreams,
  closed: () => [],
});
test.after(() => egress.close());

/** Opens a session through the real way out; it ends with the test. */
async function opened(
  t: test.TestContext,
  upstream: { url: string; close(): Promise<void> },
  over: Partial<AdapterContext> = {},
  config: object = {},
) {
  const context = testContext({ url: upstream.url, ...config }, { fetch: egress.upstreamFetch, ...over });
  t.after(() => upstream.close());
  const session = await mcpAdapter.open(context);
  t.after(() => session.close());
  return { session, context };
}

const ASKABLE = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true }, tasks: { list: {} } };

for (const [era, start, protocol] of [
  ["modern", startModernUpstream, "2026-07-28"],
  ["legacy", startLegacyUpstream, "2025-11-25"],
  ["SSE", startSseUpstream, "2025-11-25"],
] as const) {
  test(`${era}: every page of every list arrives, with fields that no schema knows`, async (t) => {
    const { session } = await opened(t, await start());
    const tools = await session.listTools();
    for (const tool of TOOLS)
      assert.ok(
        tools.some(({ name }) => name === tool.name),
        tool.name,
      );
    const vendor = tools.find(({ name }) => name === "vendor");
    assert.deepEqual(
      vendor,
      TOOLS.find(({ name }) => name === "vendor"),
    );
    assert.deepEqual(await session.listResources?.(), [
      { uri: "test://one", name: "one", "x-vendor": true },
      { uri: "test://two", name: "two" },
    ]);
    assert.equal((await session.listResourceTemplates?.())?.[0]?.["uriTemplate"], "test://item/{id}");
    assert.equal((await session.listPrompts?.())?.[0]?.["name"], "greet");
    assert.equal(session.introduction().protocol, protocol);
    assert.equal(session.introduction().instructions, "Use echo.");
  });

  test(`${era}: resources, prompts and completions are read`, async (t) => {
    const { session } = await opened(t, await start());
    const read = await session.readResource?.("test://one", testCall());
    assert.ok(read);
    assert.deepEqual(resultOf(read)["contents"], [{ uri: "test://one", text: "body", "x-vendor": 1 }]);
    const prompt = await session.getPrompt?.("greet", { who: "you" }, testCall());
    assert.ok(prompt);
    assert.match(JSON.stringify(resultOf(prompt)), /Hello you/);
    const params = { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "who", value: "me" } };
    const completed = await session.complete?.(params, testCall());
    assert.deepEqual(completed?.["completion"], { values: ["me!"], total: 1 });
  });

  test(`${era}: a JSON-RPC error keeps its code, words and data`, async (t) => {
    const { session } = await opened(t, await start());
    await assert.rejects(session.callTool("refuse", {}, testCall()), (error) => {
      assert.ok(error instanceof UpstreamRpcError, String(error));
      assert.equal(error.rpcCode, -32602);
      assert.equal(error.message.replace(/^MCP error -32602: /, ""), "no such thing");
      assert.deepEqual(error.data, { uri: "test://gone" });
      return true;
    });
  });

  test(`${era}: a result that breaks its output schema is delivered as it came`, async (t) => {
    const { session } = await opened(t, await start());
    await session.listTools();
    const result = resultOf(await session.callTool("vendor", {}, testCall()));
    assert.deepEqual(result["structuredContent"], { n: "not a number" });
    assert.equal(result["x-top"], 1);
    assert.equal(Object(result["_meta"])["vendor/result"], true);
  });

  test(`${era}: logs of a call reach that call and no other`, async (t) => {
    const { session } = await opened(t, await start());
    const heard = await Promise.all(
      ["ann", "bob", "cat"].map(async (who) => {
        const said: unknown[] = [];
        const call = testCall({
          caller: { key: who, capabilities: {}, logLevel: "info" },
          notify: ({ method, params }) => said.push([method, params?.["data"]]),
        });
        await session.callTool("chat", { who }, call);
        return said;
      }),
    );
    assert.deepEqual(
      heard,
      ["ann", "bob", "cat"].map((who) => [["notifications/message", `for ${who}`]]),
    );
  });

  test(`${era}: trace context goes along, our own keys do not come from the caller`, async (t) => {
    const { session } = await opened(t, await start());
    const meta = { traceparent: "00-1", progressToken: "theirs", "io.modelcontextprotocol/protocolVersion": "1999" };
    const said = JSON.parse(textOf(await session.callTool("whoami", {}, testCall({ meta }))));
    assert.equal(said.meta.traceparent, "00-1");
    assert.notEqual(said.meta.progressToken, "theirs");
  });
}

test("legacy: a question reaches exactly the call it belongs to, however many run at once", async (t) => {
  const upstream = await startLegacyUpstream();
  const { session } = await opened(t, upstream);
  const notes = Array.from({ length: 12 }, (_, index) => `note-${index}`);
  const answers = await Promise.all(
    notes.map(async (note, index) => {
      const call = testCall({
        caller: { key: `caller-${index % 2}`, capabilities: ASKABLE },
        ask: async ({ method, params }: Question) => {
          assert.equal(method, "elicitation/create");
          assert.ok(String(params?.["message"]).includes(`${note}?`), "the question of another call");
          return { action: "accept", content: { name: `for ${note}` } };
        },
      });
      return textOf(await session.callTool("ask_name", { note }, call));
    }),
  );
  for (const [index, answer] of answers.entries()) assert.ok(answer.includes(`for note-${index}"`), answer);
});

test("legacy: callers never share a session, one caller's calls in sequence do", async (t) => {
  const { session } = await opened(t, await startLegacyUpstream());
  const sessionOf = async (key: string) => {
    const call = testCall({ caller: { key, capabilities: ASKABLE }, ask: async () => ({}) });
    return JSON.parse(textOf(await session.callTool("whoami", {}, call)));
  };
  const first = await sessionOf("ann");
  assert.equal((await sessionOf("ann")).session, first.session);
  assert.notEqual((await sessionOf("bob")).session, first.session);
  assert.deepEqual(first.capabilities, { elicitation: { form: {} }, sampling: {}, roots: {} });
});

test("legacy: sampling and roots are asked too, a refusal is an error upstream, silence of a person is no timeout", async (t) => {
  const { session } = await opened(t, await startLegacyUpstream());
  const caller = { key: "ann", capabilities: ASKABLE };
  const slow = async ({ method }: Question) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (method === "roots/list") return { roots: [{ uri: "file:///a" }] };
    return { role: "assistant", content: { type: "text", text: "4" }, model: "m" };
  };
  const model = await session.callTool("ask_model", {}, testCall({ caller, ask: slow, timeoutMs: 150 }));
  assert.match(textOf(model), /"text":"4"/);
  assert.match(textOf(await session.callTool("ask_roots", {}, testCall({ caller, ask: slow }))), /file:\/\/\/a/);
  const refuse = async () => {
    throw new Error("the caller said no");
  };
  const refused = session.callTool("ask_name", { note: "x" }, testCall({ caller, ask: refuse }));
  await assert.rejects(refused, /the caller said no/);
});

test("modern: input_required is handed over, and its retry resumes the call with the caller's capabilities", async (t) => {
  const { session } = await opened(t, await startModernUpstream());
  const caller = { key: "ann", capabilities: ASKABLE };
  const asked = await session.callTool("ask_name", { note: "n" }, testCall({ caller }));
  assert.ok(asked.kind === "input_required");
  assert.equal(asked.requestState, "state of n");
  assert.equal(Object(asked.inputRequests["answer"])["method"], "elicitation/create");
  const resume = {
    inputResponses: { answer: { action: "accept", content: { name: "Ann" } } },
    requestState: "state of n",
  };
  const done = await session.callTool("ask_name", { note: "n" }, testCall({ caller, resume }));
  assert.match(textOf(done), /"name":"Ann".*"state":"state of n"/);
  const seen = JSON.parse(textOf(await session.callTool("whoami", {}, testCall({ caller }))));
  assert.deepEqual(seen.capabilities, { elicitation: { form: {} }, sampling: {}, roots: {} });
});

test("modern: a caller that declared nothing is told as such upstream", async (t) => {
  const { session } = await opened(t, await startModernUpstream());
  await assert.rejects(session.callTool("ask_name", { note: "n" }, testCall()), (error) => {
    assert.ok(error instanceof UpstreamRpcError);
    assert.equal(error.rpcCode, -32021);
    assert.ok(Object(error.data)["requiredCapabilities"]);
    return true;
  });
});

test("modern: x-mcp-header parameters go along as headers, in a fresh session too, and broken ones hide the tool", async (t) => {
  const upstream = await startModernUpstream();
  const { session, context } = await opened(t, upstream);
  // Nothing was listed in this session yet: the upstream refuses, and the tool's headers are looked up.
  assert.equal(textOf(await session.callTool("region", { region: "Zürich", n: 1 }, testCall())), "in Zürich");
  assert.equal(textOf(await session.callTool("region", { region: "eu-1" }, testCall())), "in eu-1");
  const tools = await session.listTools();
  assert.ok(tools.some(({ name }) => name === "region"));
  assert.ok(!tools.some(({ name }) => name === "bad_header"));
  assert.ok(
    context.log.entries.some(({ level, details }) => level === "warn" && Object(details)["tool"] === "bad_header"),
  );
});

for (const [era, start] of [
  ["modern", startModernUpstream],
  ["legacy", startLegacyUpstream],
] as const) {
  test(`${era}: changed lists and subscribed resources are told`, async (t) => {
    const upstream = await start();
    const { session } = await opened(t, upstream);
    const changes = Promise.withResolvers<Change>();
    session.onChange?.((change) => change.kind === "tools" && changes.resolve(change));
    // The stream for unasked messages opens beside the session; each nudge is one the upstream may really send.
    const nudge = setInterval(() => {
      if ("notify" in upstream) upstream.notify.toolsChanged();
      else for (const { server } of upstream.sessions.values()) server.sendToolListChanged().catch(() => undefined);
    }, 20);
    assert.deepEqual(await changes.promise, { kind: "tools" });
    clearInterval(nudge);

    const updates = Promise.withResolvers<Change>();
    session.onChange?.((change) => change.kind === "resource_updated" && updates.resolve(change));
    const ann = { key: "ann", capabilities: {} };
    await session.subscribe?.("test://one", ann);
    const touch = setInterval(() => {
      if ("notify" in upstream) upstream.notify.resourceUpdated("test://one");
      else
        for (const { server, subscribed } of upstream.sessions.values())
          if (subscribed.has("test://one")) server.sendResourceUpdated({ uri: "test://one" }).catch(() => undefined);
    }, 20);
    const update = await updates.promise;
    clearInterval(touch);
    assert.ok(update.kind === "resource_updated");
    assert.equal(update.uri, "test://one");
    assert.equal(update.callerKey, "ann");
    await session.unsubscribe?.("test://one", ann);
    if ("sessions" in upstream)
      assert.ok([...upstream.sessions.values()].every(({ subscribed }) => subscribed.size === 0));
  });
}

for (const unknownSession of [404, 400] as const) {
  test(`legacy: an upstream that forgot our session (${unknownSession}) is initialized again once`, async (t) => {
    const upstream = await startLegacyUpstream({ unknownSession });
    const { session } = await opened(t, upstream);
    const echo = (text: string) => session.callTool("echo", { text }, testCall());
    assert.equal(textOf(await echo("one")), "one");
    upstream.forget();
    const answers = await Promise.all(["two", "three", "four"].map(echo));
    assert.deepEqual(answers.map(textOf), ["two", "three", "four"]);
    assert.deepEqual(
      upstream.diary.calls.map(({ args }) => args["text"]).sort(),
      ["four", "one", "three", "two"],
      "each call was processed exactly once",
    );
    upstream.forget();
    assert.deepEqual(await session.check(), { state: "healthy" });
  });
}

test("legacy: what a caller set up survives a forgotten session, and is gone when the caller is forgotten", async (t) => {
  const upstream = await startLegacyUpstream();
  const { session } = await opened(t, upstream);
  const ann = { key: "ann", capabilities: {} };
  await session.subscribe?.("test://one", ann);
  upstream.forget();
  assert.equal(textOf(await session.callTool("echo", { text: "x" }, testCall({ caller: ann }))), "x");
  assert.ok([...upstream.sessions.values()].some(({ subscribed }) => subscribed.has("test://one")));
  await session.forget?.("ann");
  assert.ok([...upstream.sessions.values()].every(({ subscribed }) => subscribed.size === 0));
});

test("every request carries the hop header, the configured headers and the credential of this moment", async (t) => {
  const upstream = await startModernUpstream();
  let token = "first";
  const credential = async () => ({ kind: "bearer" as const, token });
  const { session } = await opened(t, upstream, { credential }, { headers: { "X-Toolsets": "a,b" } });
  token = "second";
  await session.callTool("echo", { text: "x" }, testCall());
  assert.ok(upstream.requests.every(({ headers }) => headers["x-test-hop"] === "hop-1"));
  assert.ok(upstream.requests.every(({ headers }) => headers["x-toolsets"] === "a,b"));
  assert.equal(upstream.requests[0]?.headers.authorization, "Bearer first");
  assert.equal(upstream.requests.at(-1)?.headers.authorization, "Bearer second");
});

test("a credential may be a header of its own or a parameter of the URL", async (t) => {
  const one = await startLegacyUpstream();
  await opened(t, one, { credential: async () => ({ kind: "header", name: "X-API-Key", value: "k" }) });
  assert.ok(one.requests.every(({ headers }) => headers["x-api-key"] === "k"));
  const two = await startSseUpstream();
  await opened(t, two, { credential: async () => ({ kind: "query", name: "key", value: "k&1" }) });
  assert.ok(two.requests.every(({ url }) => new URL(url, "http://x").searchParams.get("key") === "k&1"));
});

test("a legacy verdict is remembered for a day, a modern one is asked again", async (t) => {
  const upstream = await startLegacyUpstream();
  let now = Date.UTC(2026, 0, 1);
  const { session, context } = await opened(t, upstream, { clock: () => now });
  assert.deepEqual(await context.memory.read(), { era: "legacy", wire: "stream", at: now });
  await session.close();
  const probes = () => upstream.requests.filter(({ headers }) => headers["mcp-method"] === "server/discover").length;
  assert.equal(probes(), 1);
  now += 23 * 60 * 60_000;
  await (await mcpAdapter.open(context)).close();
  assert.equal(probes(), 1);
  now += 2 * 60 * 60_000;
  await (await mcpAdapter.open(context)).close();
  assert.equal(probes(), 2);
});

test("an upstream that became modern overnight is found out by its refusal", async (t) => {
  const upstream = await startModernUpstream();
  const memory = { era: "legacy", wire: "stream", at: Date.now() };
  const { session } = await opened(t, upstream, { memory: { read: async () => memory, write: async () => undefined } });
  assert.equal(session.introduction().protocol, "2026-07-28");
});
