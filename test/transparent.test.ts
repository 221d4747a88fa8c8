/** A transparent endpoint changes the shape of nothing, in each pair of eras; who may do what stays as everywhere. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { connectV2, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type RawAnswer, type RawCaller, rawCaller } from "./fixtures/raw.ts";
import { PROMPTS, RESOURCES, TEMPLATES, TOOLS } from "./fixtures/upstreams/behaviour.ts";
import { type LegacyUpstream, startLegacyUpstream } from "./fixtures/upstreams/legacy.ts";
import { type ModernUpstream, startModernUpstream } from "./fixtures/upstreams/modern.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const ERAS = ["legacy", "modern"] as const;
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
let legacy: LegacyUpstream;
let modern: ModernUpstream;
let raw: PlainUpstream;
let product: Product;

before(async () => {
  legacy = await startLegacyUpstream();
  modern = await startModernUpstream();
  raw = await startPlainUpstream([plainTool("odd")]);
  const to = (url: string, access: object) => ({ type: "mcp", label: "Test", url, auth: { method: "none" }, access });
  const all = { read: { tools: ["*"] }, resources: ["**"], prompts: ["*"] };
  const clear = (connection: string) => ({ label: connection, discovery: "transparent", connection });
  product = await startProduct({
    connections: {
      legacy: to(legacy.url, all),
      modern: to(modern.url, all),
      raw: to(raw.url, all),
      narrow: to(legacy.url, {
        read: { tools: ["echo", "w*"] },
        write: { tools: ["fail"] },
        disable: ["wait"],
        resources: ["test://one"],
      }),
    },
    endpoints: {
      legacy: clear("legacy"),
      "legacy-again": clear("legacy"),
      modern: clear("modern"),
      raw: clear("raw"),
      narrow: clear("narrow"),
    },
  });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await legacy.close();
  await modern.close();
  await raw.close();
});

const open = async (era: "legacy" | "modern", endpoint: string): Promise<RawCaller> =>
  rawCaller(era, product.endpoint(endpoint), await product.token({ endpoint, name: `${era}-${endpoint}` }));
const notified = ({ texts }: RawAnswer) =>
  texts.flatMap((text) => {
    const { method, params }: { method?: string; params?: { data?: unknown } } = JSON.parse(text);
    return method === "notifications/message" ? [params?.data] : [];
  });

for (const era of ERAS) {
  for (const upstreamEra of ERAS) {
    describe(`${era} caller, ${upstreamEra} upstream`, () => {
      let ask: RawCaller;
      before(async () => {
        ask = await open(era, upstreamEra);
      });
      const resultOf = async (...given: Parameters<RawCaller>) => (await ask(...given)).message.result;

      it("lists the upstream's tools with every field, and none of ours", async () => {
        const { tools } = (await resultOf("tools/list")) as { tools: { name: string }[] };
        const shared = tools.filter(({ name }) => name !== "region");
        assert.deepEqual(shared, TOOLS);
        if (upstreamEra === "legacy") assert.equal(shared.length, tools.length);
      });

      it("has no fixed tools to call", async () => {
        for (const name of ["tool_search", "tool_read", "tool_write", "pair"]) {
          const { message } = await ask("tools/call", { name, arguments: { name: "echo", packet: "x" } });
          assert.deepEqual(message.error, { code: -32602, message: `Unknown tool "${name}".` });
        }
      });

      it("hands a result over with every field, also one that breaks its schema", async () => {
        const { resultType, _meta, ...result } = await resultOf("tools/call", { name: "vendor", arguments: {} });
        assert.equal(resultType, era === "modern" ? "complete" : undefined);
        assert.deepEqual(result, {
          // The SDK of the upstream drops the block's own vendor field; see below for one that does not.
          content: [{ type: "text", text: "see fields" }],
          structuredContent: { n: "not a number" },
          "x-top": 1,
        });
        assert.equal((_meta as Record<string, unknown>)["vendor/result"], true);
      });

      it("hands the caller's own _meta on, and relays errors as they are", async () => {
        const given = { "vendor/call": { deep: [1] } };
        const told = await resultOf("tools/call", { name: "whoami", arguments: {} }, given);
        assert.deepEqual(JSON.parse(textOf(told)).meta["vendor/call"], given["vendor/call"]);
        const { message } = await ask("tools/call", { name: "refuse", arguments: {} });
        assert.deepEqual(message.error, { code: -32602, message: "no such thing", data: { uri: "test://gone" } });
        const failed = await resultOf("tools/call", { name: "fail", arguments: {} });
        assert.deepEqual([failed["isError"], textOf(failed)], [true, "the disk is full"]);
      });

      it("serves resources, templates, prompts and completions under their own names", async () => {
        assert.deepEqual((await resultOf("resources/list"))["resources"], RESOURCES);
        assert.deepEqual((await resultOf("resources/templates/list"))["resourceTemplates"], TEMPLATES);
        assert.deepEqual((await resultOf("prompts/list"))["prompts"], PROMPTS);
        for (const uri of ["test://one", "test://item/7"]) {
          const { contents } = await resultOf("resources/read", { uri });
          assert.deepEqual(contents, [{ uri, text: "body", "x-vendor": 1 }]);
        }
        const { messages } = await resultOf("prompts/get", { name: "greet", arguments: { who: "Ada" } });
        assert.deepEqual(messages, [{ role: "user", content: { type: "text", text: "Hello Ada" } }]);
        const argument = { name: "who", value: "A" };
        const ref = { type: "ref/prompt", name: "greet" };
        assert.deepEqual((await resultOf("completion/complete", { ref, argument }))["completion"], {
          values: ["A!"],
          total: 1,
        });
      });

      it("relays log messages from the level that was asked for", async () => {
        const chat = (level?: string) =>
          ask(
            "tools/call",
            { name: "chat", arguments: { who: "me" } },
            level && era === "modern" ? { [LOG_LEVEL]: level } : undefined,
          );
        for (const [level, expected] of [
          ["debug", ["whisper", "for me"]],
          ["info", ["for me"]],
          ["error", []],
        ] as const) {
          if (era === "legacy") assert.deepEqual(await resultOf("logging/setLevel", { level }), {});
          assert.deepEqual(notified(await chat(level)), expected, level);
        }
        // Without a level: a modern caller wants none, whatever was asked for before.
        if (era === "modern") {
          await chat("debug");
          assert.deepEqual(notified(await chat()), []);
        }
      });
    });
  }
}

for (const era of ERAS) {
  it(`${era} caller: fields and kinds of content that no SDK knows pass`, async () => {
    const result = {
      content: [
        { type: "text", text: "plain", "x-vendor": { deep: [1] }, annotations: { audience: ["user"], "x-hint": 1 } },
        { type: "hologram", shape: "cube" },
      ],
      _meta: { "vendor/result": [1] },
      "x-top": 1,
    };
    raw.results.set("odd", result);
    const ask = await open(era, "raw");
    const { resultType: _hop, ...delivered } = (await ask("tools/call", { name: "odd", arguments: {} })).message.result;
    delete (delivered["_meta"] as Record<string, unknown>)["io.modelcontextprotocol/serverInfo"];
    assert.deepEqual(delivered, result);
  });
}

describe("resource subscriptions", () => {
  const updated = "notifications/resources/updated";
  const announce = {
    legacy: async (uri: string) => {
      for (const { server, subscribed } of legacy.sessions.values())
        if (subscribed.has(uri)) await server.sendResourceUpdated({ uri });
    },
    modern: async (uri: string) => modern.notify.resourceUpdated(uri),
  };

  /** Waits for the update of `test://two`, which a test announces last. */
  async function subscriber(era: "legacy" | "modern", endpoint: string, token: string) {
    const client: Client = await connectV2(product.endpoint(endpoint), token, era);
    const heard: string[] = [];
    const last = Promise.withResolvers<void>();
    client.setNotificationHandler(updated, ({ params }) => {
      heard.push(params.uri);
      if (params.uri === "test://two") last.resolve();
    });
    if (era === "modern") await client.listen({ resourceSubscriptions: ["test://one", "test://two"] });
    else for (const uri of ["test://one", "test://two"]) await client.subscribeResource({ uri });
    return { heard, last: last.promise, close: () => client.close() };
  }

  for (const upstreamEra of ERAS) {
    it(`tell each subscriber of either era once, ${upstreamEra} upstream`, async () => {
      const token = (name: string, endpoint: string = upstreamEra) => product.token({ endpoint, name });
      const shared = await token("one");
      const subscribers = [
        await subscriber("legacy", upstreamEra, shared),
        await subscriber("legacy", upstreamEra, await token("two")),
        await subscriber("modern", upstreamEra, shared),
        await subscriber("modern", upstreamEra, shared),
        await subscriber("modern", upstreamEra, await token("three")),
      ];
      if (upstreamEra === "legacy")
        subscribers.push(await subscriber("legacy", "legacy-again", await token("four", "legacy-again")));
      await announce[upstreamEra]("test://one");
      await announce[upstreamEra]("test://two");
      await Promise.all(subscribers.map(({ last }) => last));
      for (const { heard } of subscribers) assert.deepEqual(heard, ["test://one", "test://two"]);

      // One of two streams of the same caller ends; the other still hears.
      await subscribers[2]?.close();
      await announce[upstreamEra]("test://one");
      await announce[upstreamEra]("test://two");
      await subscribers[3]?.last;
      await Promise.all(subscribers.map(({ close }) => close()));
    });
  }
});

describe("access", () => {
  for (const era of ERAS) {
    it(`${era} caller: what is outside the patterns, or disabled, does not exist`, async () => {
      const ask = await open(era, "narrow");
      const { tools } = (await ask("tools/list")).message.result as { tools: { name: string }[] };
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["echo", "fail", "whoami"],
      );
      const before = legacy.diary.calls.length;
      const errors = ["vendor", "wait", "nothing"].map(async (name) => {
        const { message } = await ask("tools/call", { name, arguments: {} });
        return JSON.stringify(message.error).replace(name, "NAME");
      });
      const [outside, disabled, nonexistent] = await Promise.all(errors);
      assert.deepEqual([outside, disabled], [nonexistent, nonexistent]);
      assert.equal(legacy.diary.calls.length, before);
      const { resources } = (await ask("resources/list")).message.result;
      assert.deepEqual(resources, RESOURCES.slice(0, 1));
      assert.equal((await ask("resources/read", { uri: "test://two" })).message.error?.code, -32602);
      assert.deepEqual((await ask("prompts/list")).message.result["prompts"], []);
      assert.equal((await ask("prompts/get", { name: "greet" })).message.error?.code, -32602);
    });

    it(`${era} caller: a token that may only read does not write`, async () => {
      const token = await product.token({ endpoint: "narrow", scopes: ["mcp:read"], name: `reader-${era}` });
      const ask = await rawCaller(era, product.endpoint("narrow"), token);
      const before = legacy.diary.calls.length;
      const { result } = (await ask("tools/call", { name: "fail", arguments: {} })).message;
      assert.deepEqual([result["isError"], /mcp:write/.test(textOf(result))], [true, true]);
      assert.equal(legacy.diary.calls.length, before);
      const read = (await ask("tools/call", { name: "echo", arguments: { text: "hi" } })).message.result;
      assert.equal(textOf(read), "hi");
    });
  }
});
