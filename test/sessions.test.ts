/** Legacy sessions: they survive a restart of the process, end when their client says so, and rest when idle. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, describe, it, mock } from "node:test";
import type { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { connectV1, connectV2, textOf } from "./fixtures/clients.ts";
import { type Product, type ProductOptions, startProduct } from "./fixtures/product.ts";
import { post } from "./fixtures/raw.ts";
import { type LegacyUpstream, startLegacyUpstream } from "./fixtures/upstreams/legacy.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";
import { isHeard, watchedFetch } from "./fixtures/watched-fetch.ts";

/** Stops a product and starts one with the same directories on the same port. */
async function restart(product: Product, options: ProductOptions = {}): Promise<Product> {
  await product.stop();
  const { port } = new URL(product.url);
  return startProduct({ ...options, directory: product.directory, env: { JACKFIELD_PORT: port } });
}

const initializes = (watch: { seen: readonly { kind: string; on: string }[] }) =>
  watch.seen.filter(({ kind, on }) => kind === "sent" && on === "initialize").length;
/** For a client that opens no GET stream. */
const withoutStream: typeof fetch = async (input, init) =>
  (init?.method ?? "GET") === "GET" ? new Response(null, { status: 405 }) : fetch(input, init);
const isGet = (event: { kind: string; on: string }) => event.kind === "opened" && event.on === "GET";

describe("a restart between two calls", () => {
  let upstream: LegacyUpstream;
  let product: Product;
  before(async () => {
    upstream = await startLegacyUpstream();
    product = await startProduct({
      connections: {
        test: {
          type: "mcp",
          label: "Test",
          url: upstream.url,
          auth: { method: "none" },
          access: { read: { tools: ["*"] } },
        },
      },
      endpoints: { clear: { label: "Clear", discovery: "transparent", connection: "test" } },
    });
  });
  after(async () => {
    await product.stop();
    rmSync(product.directory, { recursive: true, force: true });
    await upstream.close();
  });

  for (const [kind, amend] of [
    ["a v1 client", undefined],
    ["a client that never sends MCP-Protocol-Version", (headers: Headers) => headers.delete("mcp-protocol-version")],
  ] as const) {
    it(`goes unnoticed by ${kind}`, async () => {
      const watch = watchedFetch(amend);
      const client = await connectV1(product.url, await product.token({ name: kind }), {}, watch.fetch);
      const echo = async (text: string) =>
        textOf(await client.callTool({ name: "tool_read", arguments: { name: "test__echo", arguments: { text } } }));
      assert.equal(await echo("before"), "before");
      product = await restart(product);
      assert.equal(await echo("after"), "after");
      assert.ok((await client.listTools()).tools.length >= 4);
      assert.equal(initializes(watch), 1);
      await client.close();
    });
  }

  it("goes unnoticed by a v2 client in legacy mode, several calls at once", async () => {
    const watch = watchedFetch();
    const client = await connectV2(product.url, await product.token({ name: "v2" }), "legacy", {}, watch.fetch);
    product = await restart(product);
    const texts = ["a", "b", "c", "d"];
    const results = texts.map((text) => client.callTool({ name: "test__echo", arguments: { text } }));
    assert.deepEqual((await Promise.all(results)).map(textOf), texts);
    assert.equal(initializes(watch), 1);
    await client.close();
  });

  it("keeps the session's log level and its client's capabilities", async () => {
    const watch = watchedFetch();
    const token = await product.token({ endpoint: "clear" });
    const client = await connectV1(
      product.endpoint("clear"),
      token,
      { capabilities: { elicitation: {} } },
      watch.fetch,
    );
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { name: "Ada" } }));
    const logged: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params.data));
    const chat = async (who: string) => client.callTool({ name: "chat", arguments: { who } });
    await chat("me");
    assert.deepEqual(logged.splice(0), ["for me"], "the service's own level is info");
    await client.setLoggingLevel("debug");
    await chat("me");
    assert.deepEqual(logged.splice(0), ["whisper", "for me"]);

    product = await restart(product);
    await chat("you");
    assert.deepEqual(logged.splice(0), ["whisper", "for you"]);
    const asked = await client.callTool({ name: "ask_name", arguments: { note: "friend" } });
    assert.match(textOf(asked), /friend .*"name":"Ada"/);
    assert.equal(initializes(watch), 1);
    await client.close();
  });

  it("lets the client open its GET stream again, and changes arrive there", async () => {
    const watch = watchedFetch();
    const token = await product.token({ name: "streams" });
    const client = await connectV1(product.url, token, {}, withoutStream);
    const listen = async () => {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: "text/event-stream",
        "mcp-session-id": sessionOf(client),
      };
      const stream = await watch.fetch(product.url, { headers });
      assert.equal(stream.status, 200);
      return Promise.allSettled([stream.body?.pipeTo(new WritableStream())]);
    };
    listen();
    await watch.until(isGet);
    product = await restart(product);
    listen();
    await watch.until((event) => isGet(event) && watch.seen.filter(isGet).length === 2);
    await client.callTool({ name: "tool_search", arguments: { query: "select:test__echo" } });
    const told = await watch.until((event) => isHeard(event, "notifications/tools/list_changed"));
    assert.equal(told.on, "GET");
    await client.close();
  });

  it("does not bring a session back that its client had ended, nor for another token", async () => {
    const token = await product.token({ name: "ends" });
    const ended = await connectV1(product.url, token);
    const open = await connectV1(product.url, token);
    const [endedId, openId] = [sessionOf(ended), sessionOf(open)];
    await (ended.transport as StreamableHTTPClientTransport).terminateSession();
    const ping = (session: string, by: string) =>
      post(product.url, by, { jsonrpc: "2.0", id: 9, method: "ping" }, { "mcp-session-id": session });
    const stranger = await product.token({ name: "stranger" });
    for (const time of ["before", "after"]) {
      for (const answer of [await ping(endedId, token), await ping(openId, stranger), await ping("never", token)]) {
        assert.deepEqual([answer.status, answer.message.error?.code, answer.message.id], [404, -32001, 9], time);
      }
      if (time === "before") product = await restart(product);
    }
    assert.equal((await ping(openId, token)).status, 200);
    await open.close();
  });
});

function sessionOf(client: ClientV1): string {
  return (client.transport as StreamableHTTPClientTransport).sessionId ?? "";
}

describe("an idle session", () => {
  const SWEEP_MS = 60_000;
  const IDLE_MS = 16 * 60_000;
  const time = { now: Date.now() };
  let upstream: PlainUpstream;
  let product: Product;
  before(async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    upstream = await startPlainUpstream([plainTool("go")]);
    product = await startProduct({
      connections: {
        slow: {
          type: "mcp",
          label: "Slow",
          url: upstream.url,
          auth: { method: "none" },
          access: { write: { tools: ["*"] } },
        },
      },
      clock: () => time.now,
    });
  });
  after(async () => {
    mock.timers.reset();
    await product[Symbol.asyncDispose]();
    await upstream.close();
  });
  /** Moves time past the idle limit and lets the sweep run. */
  const pass = () => {
    time.now += IDLE_MS;
    mock.timers.tick(SWEEP_MS);
  };
  /** Whoever is still in memory does not miss its record. */
  const dropRecords = () => product.app.store.models.mcpSessions.destroy({ where: {} });

  it("is put away and comes back with the next request", async () => {
    const client = await connectV1(product.url, await product.token(), {}, withoutStream);
    pass();
    assert.equal((await client.listTools()).tools.length, 4);
    pass();
    await dropRecords();
    await assert.rejects(client.listTools(), /Session not found/);
    await client.close();
  });

  it("stays where it is not idle: used, listening, or with a call that takes its time", async () => {
    const used = await connectV1(product.url, await product.token(), {}, withoutStream);
    const watch = watchedFetch();
    const listening = await connectV1(product.url, await product.token(), {}, watch.fetch);
    await watch.until(isGet);
    const calling = await connectV1(product.url, await product.token(), {}, withoutStream);
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    upstream.pause = () => {
      arrived.resolve();
      return release.promise;
    };
    const answer = calling.callTool({ name: "slow__go", arguments: {} });
    await arrived.promise;
    time.now += IDLE_MS;
    await used.listTools();
    mock.timers.tick(SWEEP_MS);
    await dropRecords();
    for (const client of [used, listening]) assert.equal((await client.listTools()).tools.length, 4);
    release.resolve();
    assert.equal(textOf(await answer), "go");
    await Promise.all([used.close(), listening.close(), calling.close()]);
  });
});
