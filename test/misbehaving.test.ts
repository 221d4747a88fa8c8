/** Upstreams that go wrong beside one that does not: it goes on, and each caller reads what happened. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { served } from "./fixtures/beside.ts";
import { type AnyClient, connect, connectV2, FLAVOURS, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";
import { type Manner, type Misbehaving, startMisbehaving } from "./fixtures/upstreams/misbehaving.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const STDIO_SERVER = join(import.meta.dirname, "fixtures/upstreams/stdio-server.ts");
const mcp = (label: string, more: object) => ({ type: "mcp", label, ...more });
const over = (url: string) => ({ url, auth: { method: "none" } });
const reads = (...tools: string[]) => ({ access: { read: { tools } } });
const writes = (...tools: string[]) => ({ access: { write: { tools } } });
const errorOf = (result: { _meta?: unknown }) => Object(Object(result._meta)["jackfield/error"]);

describe("a call to an upstream that goes wrong", () => {
  let healthy: PlainUpstream;
  let bad: Misbehaving;
  let product: Product;
  before(async () => {
    healthy = await startPlainUpstream([plainTool("get_it")]);
    bad = await startMisbehaving("behaves");
    product = await startProduct({
      connections: {
        healthy: mcp("Healthy", { ...over(healthy.url), ...reads("get_it") }),
        reader: mcp("Reader", { ...over(bad.url), ...reads("go") }),
        writer: mcp("Writer", { ...over(bad.url), ...writes("go") }),
      },
      timeouts: { callMs: 500, maxMs: 1500 },
    });
  });
  after(async () => {
    await product[Symbol.asyncDispose]();
    await healthy.close();
    await bad.close();
  });
  beforeEach(() => bad.become("behaves"));

  const lastOf = async (toolName: string) => {
    const { auditEvents } = product.app.store.models;
    const row = await auditEvents.findOne({ where: { toolName }, order: [["id", "DESC"]] });
    return row && [row.outcome, row.outcomeCode];
  };

  for (const [manner, code, words] of [
    ["hangs-on-call", "upstream_timeout", /did not answer within 500 ms/],
    ["answers-500", "upstream_status", /HTTP 500: the database is on fire/],
    ["answers-html", "upstream_protocol", /not MCP/],
    ["answers-no-json", "upstream_protocol", /not MCP/],
    ["dies-in-stream", "upstream_died", /ended before its answer/],
    ["dies-in-connection", "upstream_died", /ended before its answer/],
    ["streams-garbage", "upstream_died", /ended before its answer/],
    ["endless-comments", "upstream_timeout", /did not answer within 500 ms/],
  ] as const satisfies readonly (readonly [Manner, string, RegExp])[]) {
    it(`that ${manner}: one request, a truthful answer, and the neighbour is not kept waiting`, async () => {
      const client = await connect("v2-modern", product.url, await product.token({ name: manner }));
      const call = (name: string) => client.callTool({ name, arguments: {} });
      for (const [name, expected] of [
        ["reader__go", code],
        ["writer__go", "outcome_unknown"],
      ] as const) {
        assert.equal(textOf(await call(name)), "fine");
        bad.become(manner);
        const before = bad.calls();
        const arrived = bad.called();
        const answer = call(name);
        await arrived;
        assert.equal(textOf(await call("healthy__get_it")), "get_it");
        const result = await answer;
        assert.equal(result.isError, true);
        assert.equal(errorOf(result).code, expected, textOf(result));
        assert.match(textOf(result), words);
        if (expected === "outcome_unknown") {
          assert.match(textOf(result), /may have acted.*Check before you call again/);
          assert.deepEqual(await lastOf(name), ["outcome_unknown", code]);
        }
        assert.equal(bad.calls(), before + 1);
        bad.become("behaves");
      }
      await client.close();
    });
  }

  it("is given up after the longest time, however much progress it reports", async () => {
    bad.become("endless-progress");
    const client = await connectV2(product.url, await product.token({ name: "progress" }), "modern");
    let steps = 0;
    const gone = bad.left();
    const result = await client.callTool(
      { name: "reader__go", arguments: {} },
      {
        onprogress: () => {
          steps += 1;
        },
        resetTimeoutOnProgress: true,
      },
    );
    assert.equal(errorOf(result).code, "upstream_timeout");
    assert.match(textOf(result), /within 1.5 s/);
    assert.ok(steps > 20);
    await gone;
    await client.close();
  });

  it("lets go of a stream without end, upstream too", async () => {
    bad.become("endless-comments");
    const gone = bad.left();
    const token = await product.token({ name: "lets-go" });
    await postModern(product.url, token, "tools/call", { name: "reader__go", arguments: {} });
    await gone;
  });

  it("is ended upstream where its caller hangs up, and a write that is cut off like that is not called ok", async () => {
    bad.become("hangs-on-call");
    const client = await connectV2(product.url, await product.token({ name: "hangs-up" }), "modern");
    const abort = new AbortController();
    const arrived = bad.called();
    const gone = bad.left();
    const call = client.callTool({ name: "writer__go", arguments: {} }, { signal: abort.signal });
    await arrived;
    abort.abort();
    await assert.rejects(call);
    await gone;
    await client.close();
    const ended = await lastOf("writer__go");
    assert.ok(ended && ["open", "cancelled"].includes(ended[0] ?? ""), String(ended));
  });
});

describe("a call to an upstream that sends too much", () => {
  for (const [manner, code, words] of [
    ["huge-result", undefined, /\n\[The first \d+ of \d{8} bytes\. The whole text is kept until /],
    ["endless-event", "upstream_died", /ended before its answer/],
  ] as const) {
    it(`${manner}: is cut off, and says so`, async () => {
      const bad = await startMisbehaving(manner);
      const product = await startProduct({
        connections: { reader: mcp("Reader", { ...over(bad.url), ...reads("go") }) },
      });
      const client = await connect("v2-modern", product.url, await product.token());
      const gone = bad.left();
      const result = await client.callTool({ name: "reader__go", arguments: {} });
      assert.match(textOf(result), words);
      assert.ok(JSON.stringify(result).length < 50_000);
      if (code !== undefined) assert.deepEqual([result.isError, errorOf(result).code], [true, code]);
      await gone;
      assert.equal(bad.calls(), 1);
      await client.close();
      await product[Symbol.asyncDispose]();
      await bad.close();
    });
  }
});

describe("a stdio upstream that dies in mid-call", () => {
  for (const flavour of FLAVOURS) {
    it(`${flavour} client: the call is not made twice, its outcome is unknown, and the next call finds a new process`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "jackfield-diary-"));
      const diary = join(folder, "calls");
      const healthy = await startPlainUpstream([plainTool("get_it")]);
      const product = await startProduct({
        connections: {
          child: mcp("Child", {
            command: [process.execPath, STDIO_SERVER, "--era", "legacy", "--diary", diary],
            access: { read: { tools: ["echo"] }, write: { tools: ["die"] } },
          }),
          healthy: mcp("Healthy", { ...over(healthy.url), ...reads("get_it") }),
        },
        files: { "jackfield.yml": "version: 1\nstdio: allow\n" },
      });
      try {
        const client = await connect(flavour, product.url, await product.token());
        const call = (name: string, args = {}) => client.callTool({ name, arguments: args });
        const dying = call("child__die");
        assert.equal(textOf(await call("healthy__get_it")), "get_it");
        const result = await dying;
        assert.deepEqual([result.isError, errorOf(result).code], [true, "outcome_unknown"]);
        const { auditEvents } = product.app.store.models;
        const row = await auditEvents.findOne({ where: { toolName: "child__die" } });
        assert.deepEqual([row?.outcome, row?.outcomeCode], ["outcome_unknown", "upstream_died"]);
        assert.equal(textOf(await untilFine(() => call("child__echo", { text: "again" }))), "again");
        assert.deepEqual(readFileSync(diary, "utf8").trim().split("\n"), ["die", "echo"]);
        await client.close();
      } finally {
        await product[Symbol.asyncDispose]();
        await healthy.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  /** A process that died is started again after a pause; calls until then are refused unsent. */
  async function untilFine(call: () => ReturnType<AnyClient["callTool"]>) {
    const late = performance.now() + 10_000;
    for (;;) {
      const result = await call();
      if (result.isError !== true || performance.now() > late) return result;
    }
  }
});

describe("tool_search beside upstreams that cannot be loaded", () => {
  let hangs: Misbehaving;
  let burns: Misbehaving;
  let welcomes: Misbehaving;
  let healthy: PlainUpstream;
  before(async () => {
    hangs = await startMisbehaving("hangs");
    burns = await startMisbehaving("answers-500");
    welcomes = await startMisbehaving("answers-html");
    healthy = await startPlainUpstream([plainTool("get_invoice", "Fetches an invoice by its number.")]);
  });
  after(() => Promise.all([hangs, burns, welcomes, healthy].map((upstream) => upstream.close())));

  const failing = () => ({
    burns: mcp("Burns", { ...over(burns.url), ...reads("*") }),
    welcomes: mcp("Welcomes", { ...over(welcomes.url), ...reads("*") }),
    gone: mcp("Gone", { ...over("http://127.0.0.1:9/mcp"), ...reads("*") }),
    dies: mcp("Dies", { command: [process.execPath, STDIO_SERVER, "--dies-at-start"], ...reads("*") }),
  });
  const stdio = { "jackfield.yml": "version: 1\nstdio: allow\n" };
  const WORDS = {
    burns: /burns: .*upstream_status.*HTTP 500: the database is on fire/,
    welcomes: /welcomes: .*upstream_protocol/,
    gone: /gone: .*upstream_unreachable.*ECONNREFUSED/,
    dies: /dies: .*upstream_died/,
  };

  it("finds what is stored, at once, and names each failure beside it", async () => {
    await using product = await startProduct({
      connections: {
        ...failing(),
        hangs: mcp("Hangs", { ...over(hangs.url), ...reads("*") }),
        healthy: mcp("Healthy", { ...over(healthy.url), ...reads("*") }),
      },
      files: stdio,
      loaded: false,
    });
    await served(product, (connections) =>
      connections.every(({ slug, loadError, tools }) =>
        slug === "hangs" ? true : slug === "healthy" ? tools.length === 1 : loadError !== undefined,
      ),
    );
    const token = await product.token();
    const search = async (args: object) =>
      (await postModern(product.url, token, "tools/call", { name: "tool_search", arguments: { ...args } })).message
        .result;
    const found = await search({ query: "fetch an invoice" });
    assert.equal(found["isError"], undefined);
    assert.deepEqual(
      Object(found["structuredContent"]).tools.map(({ name }: { name: string }) => name),
      ["healthy__get_invoice"],
    );
    const text = textOf(found);
    for (const words of Object.values(WORDS)) assert.match(text, words);
    assert.match(text, /hangs: loading/);
    const states = Object(found["structuredContent"]).connections.map(
      ({ id, state }: { id: string; state: string }) => [id, state],
    );
    assert.deepEqual(Object.fromEntries(states), {
      burns: "failed",
      dies: "failed",
      gone: "failed",
      hangs: "loading",
      welcomes: "failed",
    });
    const read = await postModern(product.url, token, "tools/call", { name: "healthy__get_invoice", arguments: {} });
    assert.equal(textOf(read.message.result), "get_invoice");
  });

  it("is an error with the words of each where nothing could be loaded", async () => {
    await using product = await startProduct({ connections: failing(), files: stdio });
    const token = await product.token();
    const answer = await postModern(product.url, token, "tools/call", {
      name: "tool_search",
      arguments: { query: "fetch an invoice" },
    });
    assert.equal(answer.message.result["isError"], true);
    for (const words of Object.values(WORDS)) assert.match(textOf(answer.message.result), words);
  });

  it("goes on answering from what is stored after a restart in which nothing can be loaded", async () => {
    const upstream = await startPlainUpstream([plainTool("get_invoice", "Fetches an invoice by its number.")]);
    const connections = { shop: mcp("Shop", { ...over(upstream.url), ...reads("*") }) };
    const first = await startProduct({ connections });
    const token = await first.token();
    await first.stop();
    await upstream.close();
    await using second = await startProduct({ directory: first.directory });
    const answer = await postModern(second.url, token, "tools/call", {
      name: "tool_search",
      arguments: { query: "fetch an invoice" },
    });
    assert.match(textOf(answer.message.result), /shop__get_invoice/);
    assert.match(textOf(answer.message.result), /shop: failed.*upstream_unreachable/);
    const call = await postModern(second.url, token, "tools/call", { name: "shop__get_invoice", arguments: {} });
    assert.equal(errorOf(call.message.result).code, "upstream_unreachable");
  });
});
