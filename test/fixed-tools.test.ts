/** The four tools every caller always sees: what they cost, what they promise, and what they refuse. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createLog } from "../server/observe/log.ts";
import { type AnyClient, connect, FLAVOURS, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const FIXED = ["tool_search", "tool_read", "tool_write", "pair"];
const connection = (url: string, label = "Shop") => ({
  type: "mcp",
  label,
  url,
  auth: { method: "none" },
  access: { read: { tools: ["get_*"] }, write: { tools: ["put_*"] } },
});

describe("the cost of the fixed tools", () => {
  for (const [tools, connections] of [
    [3, 1],
    [3000, 60],
  ] as const) {
    it(`is at most 900 tokens with ${tools} tools connected`, async () => {
      const each = tools / connections;
      await using upstreams = new AsyncDisposableStack();
      const upstream = await startPlainUpstream(
        Array.from({ length: each }, (_, at) =>
          plainTool(`get_thing_number_${at}`, "Fetches a thing by its number. ".repeat(20)),
        ),
      );
      upstreams.defer(() => upstream.close());
      const slugs = Array.from({ length: connections }, (_, at) => `long-service-name-${at}`);
      await using product = await startProduct({
        connections: Object.fromEntries(
          slugs.map((slug, at) => [slug, connection(upstream.url, `A service with a long label ${at}`)]),
        ),
      });
      const client = await connect("v1", product.url, await product.token());
      const listed = (await client.listTools()).tools;
      assert.deepEqual(
        listed.map(({ name }) => name),
        FIXED,
      );
      const found = await client.callTool({ name: "tool_search", arguments: {} });
      assert.equal((found.structuredContent as { total: number }).total, tools);
      // Everything that is listed counts, also what most hosts keep from the model.
      const cost = encode(JSON.stringify(listed)).length;
      assert.ok(cost <= 900, `${cost} tokens`);
      await client.close();
    });
  }
});

describe("the fixed tools", () => {
  let upstream: PlainUpstream;
  let product: Product;
  before(async () => {
    upstream = await startPlainUpstream([
      {
        name: "get_item",
        inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
        outputSchema: { type: "object", properties: {} },
      },
      plainTool("put_item"),
      plainTool("hidden_item"),
    ]);
    product = await startProduct({ connections: { shop: connection(upstream.url) } });
  });
  after(async () => {
    await product[Symbol.asyncDispose]();
    await upstream.close();
  });

  for (const flavour of FLAVOURS) {
    describe(`${flavour} client`, () => {
      let client: AnyClient;
      before(async () => {
        client = await connect(flavour, product.url, await product.token({ name: flavour }));
      });
      after(() => client.close());
      const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
      const calls = () => upstream.calls.map(({ name, args }) => `${name} ${JSON.stringify(args)}`);

      it("say what they may change, and ask to be kept loaded", async () => {
        const { tools } = await client.listTools();
        const hints = tools.map(({ name, annotations }) => [
          name,
          annotations?.readOnlyHint ?? false,
          annotations?.destructiveHint ?? false,
        ]);
        assert.deepEqual(hints, [
          ["tool_search", true, false],
          ["tool_read", true, false],
          ["tool_write", false, true],
          ["pair", false, false],
        ]);
        for (const { _meta } of tools) assert.deepEqual(_meta, { "anthropic/alwaysLoad": true });
      });

      it("tool_read refuses what can change things, and the service hears nothing of it", async () => {
        const before = calls().length;
        const refused = await call("tool_read", { name: "shop__put_item", arguments: { text: "x" } });
        assert.equal(refused.isError, true);
        assert.match(textOf(refused), /tool_write/);
        assert.equal(calls().length, before);
      });

      it("tool_read reads, and tool_write writes and reads", async () => {
        const before = calls().length;
        assert.equal(textOf(await call("tool_read", { name: "shop__get_item", arguments: { id: 1 } })), "get_item");
        assert.equal(textOf(await call("tool_write", { name: "shop__put_item", arguments: {} })), "put_item");
        assert.equal(textOf(await call("tool_write", { name: "shop__get_item", arguments: { id: 2 } })), "get_item");
        assert.deepEqual(calls().slice(before), ['get_item {"id":1}', "put_item {}", 'get_item {"id":2}']);
      });

      it("take arguments that a model wrote as a string of JSON", async () => {
        const result = await call("tool_read", { name: "shop__get_item", arguments: '{"id": 7}' });
        assert.equal(textOf(result), "get_item");
        assert.equal(calls().at(-1), 'get_item {"id":7}');
        const wrong = await call("tool_read", { name: "shop__get_item", arguments: "seven" });
        assert.equal(wrong.isError, true);
      });

      it("answer a wrong argument with what is wrong, and a missing name with what to send", async () => {
        const wrong = await call("tool_read", { name: "shop__get_item", arguments: { id: "one" } });
        assert.deepEqual([wrong.isError, /id: must be integer/.test(textOf(wrong))], [true, true]);
        const nameless = await call("tool_write", { arguments: {} });
        assert.deepEqual([nameless.isError, /"name"/.test(textOf(nameless))], [true, true]);
      });

      it("answer an unknown tool and one outside the patterns alike, with the way to find one", async () => {
        const answers = ["shop__hidden_item", "shop__never_there", "nowhere__get_item"].map(async (name) => {
          const { content, isError, _meta } = await call("tool_write", { name, arguments: {} });
          return JSON.stringify({ content, isError, error: _meta?.["jackfield/error"] }).replaceAll(name, "NAME");
        });
        const [hidden, ...others] = await Promise.all(answers);
        assert.match(hidden ?? "", /Unknown tool .*NAME.* Find tools with tool_search/);
        for (const other of others) assert.equal(other, hidden);
      });

      it("a token that may only read cannot write through any of them", async () => {
        const token = await product.token({ name: `reader-${flavour}`, scopes: ["mcp:read"] });
        const reader = await connect(flavour, product.url, token);
        const before = calls().length;
        for (const params of [
          { name: "tool_write", arguments: { name: "shop__put_item" } },
          { name: "shop__put_item", arguments: {} },
        ]) {
          const refused = await reader.callTool(params);
          assert.equal(refused.isError, true);
          assert.match(textOf(refused), /mcp:write/);
        }
        assert.equal(calls().length, before);
        await reader.close();
      });
    });
  }
});

it("pair says truthfully that no connection can be paired, and the packet is kept nowhere", async () => {
  const packet = "PACKET-kz9Q3vTqWm81xNcR-4417";
  const lines: string[] = [];
  const log = createLog(
    { log: { level: "debug", format: "json" } },
    { destination: { write: (line: string) => void lines.push(line) } },
  );
  const upstream = await startPlainUpstream([plainTool("get_item")]);
  await using product = await startProduct({ connections: { shop: connection(upstream.url) }, log });
  for (const flavour of FLAVOURS) {
    const client = await connect(flavour, product.url, await product.token({ name: flavour }));
    for (const more of [{}, { connection: "shop" }, { connection: "nowhere" }]) {
      const result = await client.callTool({ name: "pair", arguments: { packet, ...more } });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /No connection can be paired/);
      assert.match(textOf(result), more.connection === "shop" ? /Shop \(mcp\) does not/ : /None of the 1/);
    }
    await client.close();
  }
  await product.stop();
  await upstream.close();
  assert.ok(lines.length > 0);
  assert.ok(!lines.join("").includes(packet));
  const data = join(product.directory, "data");
  const files = readdirSync(data).map((name) => readFileSync(join(data, name), "latin1"));
  assert.ok(files.some((bytes) => bytes.includes("pairing_unavailable")));
  for (const bytes of files) assert.ok(!bytes.includes(packet));
});
