/** Agents that do not do what they should: nothing hangs, nothing is believed twice, nothing is sent elsewhere. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { RequestHandler } from "express";
import { a2aAdapter } from "../adapters/a2a/index.ts";
import { type JsonObject, type Outcome, UpstreamError } from "../adapters/contract.ts";
import { parseRange } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { resultOf, testCall, testContext } from "./contract/adapter.ts";
import { type AgentOptions, startAgent } from "./fixtures/a2a/agent.ts";
import { deskRoom } from "./fixtures/a2a/desk.ts";
import { structured, wordsOf } from "./fixtures/a2a/round-trips.ts";
import { assetRoom } from "./fixtures/assets.ts";
import { startRecordingService } from "./fixtures/recording-service.ts";

const PATIENT = { timeoutMs: 60_000, maxTimeoutMs: 60_000 };

async function scene(
  t: TestContext,
  options: AgentOptions = {},
  config: JsonObject = {},
  over: Parameters<typeof testContext>[1] = {},
) {
  const agent = await startAgent(options);
  const session = await a2aAdapter.open(testContext({ card: agent.cardUrl, wait: 600, ...config }, over));
  const { desk } = await deskRoom(t);
  const room = await assetRoom(t);
  t.after(async () => {
    await session.close();
    await agent.close();
  });
  const base = { tasks: desk(), assets: room.keeper.of(room.owner()), ...PATIENT };
  const call = (args: JsonObject, over: Parameters<typeof testCall>[0] = {}, action = "talk"): Promise<Outcome> =>
    session.callTool(action, args, testCall({ ...base, ...over }));
  return { agent, session, call };
}

/** A stream that is written by hand, in place of the agent's. */
function streamOf(answer: (write: (event: object) => void, end: () => void) => void): RequestHandler {
  return (request, response, next) => {
    if (request.body?.method !== "SendStreamingMessage") return next();
    response.setHeader("content-type", "text/event-stream");
    response.flushHeaders();
    const write = (event: object) => {
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: request.body.id, ...event })}\n\n`);
    };
    answer(write, () => response.end());
    return undefined;
  };
}

test("a stream that is cut off in mid-task is taken up again, and the task comes to its end", async (t) => {
  const { promise: third, resolve } = Promise.withResolvers<void>();
  let streams = 0;
  const guard: RequestHandler = (request, response, next) => {
    if (request.headers.accept !== "text/event-stream") return next();
    streams += 1;
    if (streams === 3) resolve();
    if (streams < 3) {
      const write = response.write.bind(response);
      // The first event gets through, and nothing after it.
      let written = false;
      response.write = (chunk: unknown) => {
        if (!written) write(chunk, () => setImmediate(() => response.destroy()));
        written = true;
        return true;
      };
    }
    next();
    return undefined;
  };
  const { call, agent } = await scene(t, { guard });
  const [outcome] = await Promise.all([call({ message: "hang" }), third.then(() => agent.script.release("after all"))]);
  assert.match(wordsOf(outcome), /after all/);
  assert.equal(agent.script.messages.length, 1, "the message was not sent again");
});

test("an agent that is gone in mid-task leaves the handle, and says what happened", async (t) => {
  const { call, agent } = await scene(t);
  const running = call({ message: "hang" }, { progress: () => void agent.close() });
  const outcome = await running;
  assert.equal(resultOf(outcome)["isError"], true);
  assert.match(wordsOf(outcome), /could not be heard any more: .*cannot be reached/);
  assert.match(wordsOf(outcome), /tested__task_result/);
  assert.ok(structured(outcome)["task"]);
});

test("a task that never ends costs the caller its patience and no more", async (t) => {
  for (const streaming of [true, false]) {
    const { call, agent } = await scene(t, { streaming }, { wait: 0.5 });
    const outcome = await call({ message: "hang" });
    assert.equal(structured(outcome)["state"], "working");
    const asked = agent.requests.length;
    assert.ok(asked < 12, `${asked} requests in half a second`);
  }
});

test("an artifact of 50 MB does not get through, and its task is not lost", async (t) => {
  const egress = createEgress({ allow: parseRange("127.0.0.0/8") ?? [], closed: () => [] });
  t.after(() => egress.close());
  const ids = { id: "t1", contextId: "c1" };
  const status = (state: string) => ({ state: `TASK_STATE_${state}` });
  const artifacts = [{ artifactId: "a", parts: [{ raw: "A".repeat((50 * 1024 * 1024 * 4) / 3), filename: "a.bin" }] }];
  const done = { ...ids, status: status("COMPLETED"), artifacts };
  const guard: RequestHandler = (request, response, next) => {
    const { method, id } = request.body ?? {};
    const answer = (result: object) => JSON.stringify({ jsonrpc: "2.0", id, result });
    if (method === "GetTask") return void response.type("json").send(answer(done));
    if (method === "SendMessage") {
      return void response.type("json").send(answer({ task: { ...ids, status: status("WORKING") } }));
    }
    if (method !== "SendStreamingMessage") return next();
    response.setHeader("content-type", "text/event-stream");
    response.write(`data: ${answer({ task: { ...ids, status: status("WORKING") } })}\n\n`);
    return void response.end(`data: ${answer({ task: done })}\n\n`);
  };
  for (const streaming of [true, false]) {
    const { call } = await scene(t, { streaming, guard }, {}, { fetch: egress.upstreamFetch });
    const outcome = await call({ message: "x" });
    assert.equal(resultOf(outcome)["isError"], true);
    assert.match(wordsOf(outcome), /larger than the proxy passes on/);
    assert.ok(structured(outcome)["task"]);
  }
});

test("a large file is kept as an asset, and is no part of the answer", async (t) => {
  const { call } = await scene(t, { streaming: false });
  const outcome = await call({ message: `large ${2 * 1024 * 1024}` });
  const { content } = resultOf(outcome);
  assert.ok(Array.isArray(content));
  const link = content.find(({ type }) => type === "resource_link");
  assert.match(link.uri, /^asset:\/\//);
  assert.equal(link.size, 2 * 1024 * 1024);
  assert.ok(JSON.stringify(outcome).length < 2000);
});

test("of two answers the first one counts, and other people's tasks do not", async (t) => {
  const status = (taskId: string, state: string, text: string) => ({
    result: {
      statusUpdate: {
        taskId,
        contextId: "c1",
        status: { state, message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text }] } },
      },
    },
  });
  const guard = streamOf((write, end) => {
    write({ result: { task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_SUBMITTED" } } } });
    write(status("t2", "TASK_STATE_COMPLETED", "the answer of another task"));
    write(status("t1", "TASK_STATE_COMPLETED", "the first answer"));
    write(status("t1", "TASK_STATE_FAILED", "the second answer"));
    write({ result: { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text: "the third answer" }] } } });
    end();
  });
  const { call } = await scene(t, { guard });
  const outcome = await call({ message: "x" });
  assert.match(wordsOf(outcome), /^the first answer\n/);
  assert.equal(structured(outcome)["state"], "completed");
});

test("a stream that says nothing, or no A2A, is a failure with an unknown outcome", async (t) => {
  const cases: [RegExp, (write: (event: object) => void, end: () => void) => void][] = [
    [/without saying anything|ended before/, (_write, end) => end()],
    [/no usable id/, (write) => write({ result: { task: { contextId: "c" } } })],
    [/something that is not A2A/, (write) => write({ result: null, jsonrpc: "1.0" })],
    [/something that is not A2A/, (write) => write({ id: "another", result: { message: { messageId: "m" } } })],
  ];
  for (const [words, answer] of cases) {
    const guard = streamOf(answer);
    const { call } = await scene(t, { guard });
    await assert.rejects(call({ message: "x" }), (error) => {
      assert.ok(error instanceof UpstreamError, String(error));
      assert.match(error.message, words);
      assert.equal(error.processed, "unknown");
      return true;
    });
  }
});

test("an event that is no JSON ends the stream, and is not printed anywhere", async (t) => {
  const printed: unknown[] = [];
  t.mock.method(console, "error", (...words: unknown[]) => printed.push(...words));
  const guard: RequestHandler = (request, response, next) => {
    if (!request.path.endsWith("message:stream")) return next();
    response.setHeader("content-type", "text/event-stream");
    response.write('data: {"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}\n\n');
    return void response.end("data: token-of-somebody\n\n");
  };
  const { call } = await scene(t, { guard, transport: "rest" }, { wait: 0.5 });
  const outcome = await call({ message: "x" });
  assert.equal(resultOf(outcome)["isError"], true);
  assert.ok(structured(outcome)["task"], wordsOf(outcome));
  assert.deepEqual(printed, []);
});

test("what the agent is told does not follow a redirect to another origin; errors say what they are", async (t) => {
  const elsewhere = await startRecordingService();
  t.after(() => elsewhere.close());
  const guard: RequestHandler = (request, response, next) => {
    if (request.method !== "POST") return next();
    response.redirect(307, `${elsewhere.url}/rpc`);
    return undefined;
  };
  const { call } = await scene(t, { guard });
  await assert.rejects(
    call({ message: "secret plans" }),
    /redirects to another origin, where the message was not sent/,
  );
  assert.equal(elsewhere.requests.length, 0);
  for (const [status, code] of [
    [401, "authentication_required"],
    [403, "authentication_required"],
    [429, "upstream_status"],
    [503, "upstream_status"],
  ] as const) {
    const refusing = await scene(t, { guard: (_request, response) => void response.status(status).send("No.") });
    await assert.rejects(
      refusing.call({ message: "x" }),
      (error) => error instanceof UpstreamError && error.code === code,
    );
    const health = await refusing.session.check();
    assert.equal(health.state, "unhealthy");
    assert.equal(health.code, code);
  }
});

test("a file that the agent names is fetched as from a stranger", async (t) => {
  const inside = await startRecordingService((_request, response) => {
    response.setHeader("content-type", "text/plain");
    response.end("from inside");
  });
  const agent = await startAgent();
  const egress = createEgress({ allow: [], closed: () => [] });
  const opened = createEgress({ allow: parseRange("127.0.0.0/8") ?? [], closed: () => [] });
  t.after(async () => {
    await inside.close();
    await agent.close();
    await egress.close();
    await opened.close();
  });
  const answer = async (fileFetch: typeof fetch) => {
    const credential = async () => ({ kind: "bearer", token: "token-of-the-agent" }) as const;
    const session = await a2aAdapter.open(testContext({ card: agent.cardUrl }, { fileFetch, credential }));
    const room = await assetRoom(t);
    const call = testCall({ ...PATIENT, assets: room.keeper.of(room.owner()) });
    return wordsOf(await session.callTool("talk", { message: `link ${inside.url}/f.txt` }, call));
  };
  assert.match(await answer(egress.strangerFetch), /linked\.txt was not fetched/);
  assert.equal(inside.requests.length, 0);
  assert.match(await answer(await opened.namedBy(new URL(agent.url), "file")), /from inside/);
  assert.equal(inside.last().headers.authorization, undefined, "the credential stays with the agent");
});
