/** Found tools in the caller's own list: whose, how many, how long, and who is told when. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { type AnyClient, connect, FLAVOURS, type Flavour } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";
import { isHeard, type Watch, watchedFetch } from "./fixtures/watched-fetch.ts";

const CHANGED = "notifications/tools/list_changed";
const FIXED = ["tool_search", "tool_read", "tool_write", "pair"];
const DAY_MS = 24 * 3_600_000;
const time = { now: Date.now() };
let upstream: PlainUpstream;
let product: Product;

const shop = (url: string) => ({
  type: "mcp",
  label: "Shop",
  url,
  auth: { method: "none" },
  access: { read: { tools: ["*"] } },
});

before(async () => {
  upstream = await startPlainUpstream(
    Array.from({ length: 40 }, (_, number) => plainTool(`t${String(number).padStart(2, "0")}`)),
  );
  product = await startProduct({
    connections: { shop: shop(upstream.url) },
    endpoints: {
      still: { label: "Never moves", activation: "off" },
      all: { label: "Lists everything", discovery: "listed" },
      pinned: { label: "Pins", pin: ["shop__t07"] },
    },
    clock: () => time.now,
  });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream.close();
});

const shopTools = (...numbers: number[]) => numbers.map((number) => `shop__t${String(number).padStart(2, "0")}`);
const select = (...numbers: number[]) => ({ query: `select:${shopTools(...numbers).join(",")}` });
const names = async (client: AnyClient) => (await client.listTools()).tools.map((tool) => tool.name);
const found = async (client: AnyClient) => (await names(client)).filter((name) => !FIXED.includes(name));

async function open(
  flavour: Flavour,
  options: { token?: string; url?: string; watch?: Watch; onChanged?: (client: AnyClient) => void } = {},
): Promise<AnyClient> {
  const { url = product.url, watch, onChanged } = options;
  const token = options.token ?? (await product.token({ name: `shopper-${flavour}` }));
  const given: { client?: AnyClient } = {};
  const tools = { autoRefresh: false, debounceMs: 0, onChanged: () => given.client && onChanged?.(given.client) };
  const client = await connect(flavour, url, token, onChanged ? { listChanged: { tools } } : {}, watch?.fetch);
  given.client = client;
  return client;
}

/** Waits until the stream on which changes arrive is open. */
async function streaming(watch: Watch, flavour: Flavour): Promise<void> {
  const on = flavour === "v2-modern" ? "subscriptions/listen" : "GET";
  const opened = await watch.until((event) => event.kind === "opened" && event.on === on);
  assert.equal(opened.kind === "opened" && opened.status, 200);
}

const search = (client: AnyClient, args: Record<string, unknown>) =>
  client.callTool({ name: "tool_search", arguments: args });

for (const flavour of FLAVOURS) {
  const streamOf = flavour === "v2-modern" ? "subscriptions/listen" : "GET";

  describe(`${flavour} client`, () => {
    it("lists what it found, with its schema, after the fixed tools and in catalogue order", async () => {
      const client = await open(flavour);
      assert.deepEqual(await names(client), FIXED);
      await search(client, select(5, 3));
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map((tool) => tool.name),
        [...FIXED, ...shopTools(3, 5)],
      );
      assert.deepEqual(tools.at(-1)?.inputSchema.properties, { text: { type: "string" } });
      await client.close();
    });

    it("hears once that the list changed, and the answer waits until it has listed again", async () => {
      const watch = watchedFetch();
      // Slow on purpose: an answer that did not wait would overtake the list.
      const client = await open(flavour, {
        watch,
        onChanged: async (own) => {
          await postModern(product.url, await product.token({ name: "other" }), "tools/list");
          await own.listTools();
        },
      });
      await streaming(watch, flavour);
      await search(client, select(1, 2));
      const listed = watch.seen.findIndex((event) => event.kind === "sent" && event.on === "tools/list");
      const answered = watch.seen.findIndex((event) => event.kind === "heard" && event.on === "tools/call");
      assert.ok(listed > 0 && listed < answered, "the list was asked for before the answer came");
      await search(client, select(1, 2));
      await names(client);
      const told = watch.heard().filter((heard) => heard.endsWith(CHANGED));
      assert.deepEqual(told, [`${streamOf}: ${CHANGED}`]);
      await client.close();
    });

    it("is answered all the same where it does not list, and not held again after two such answers", async () => {
      const watch = watchedFetch();
      const client = await open(flavour, { watch, onChanged: () => undefined });
      await streaming(watch, flavour);
      const order: string[] = [];
      const step = async (what: string, work: Promise<unknown>) => {
        await work;
        order.push(what);
      };
      for (const number of [1, 2]) {
        const answer = step(`answer ${number}`, search(client, select(number)));
        await watch.until((event) => isHeard(event, CHANGED));
        await Promise.all([step(`request ${number}`, postModern(product.url, "wrong", "tools/list")), answer]);
      }
      assert.deepEqual(order, ["request 1", "answer 1", "request 2", "answer 2"]);

      // Another caller's hold, begun before, ends after the third answer: that one was not held.
      const other = watchedFetch();
      const held = await open(flavour, { watch: other, onChanged: () => undefined });
      await streaming(other, flavour);
      const later = step("held", search(held, select(3)));
      await other.until((event) => isHeard(event, CHANGED));
      await step("not held", search(client, select(3)));
      await later;
      assert.deepEqual(order.slice(4), ["not held", "held"]);
      await client.close();
      await held.close();
    });

    it("does not wait, and is told nothing, with activate: false", async () => {
      const watch = watchedFetch();
      const client = await open(flavour, { watch, onChanged: () => undefined });
      await streaming(watch, flavour);
      await search(client, { ...select(1), activate: false });
      assert.deepEqual(await found(client), []);
      assert.deepEqual(
        watch.heard().filter((heard) => heard.endsWith(CHANGED)),
        [],
      );
      await client.close();
    });
  });
}

for (const flavour of ["v1", "v2-legacy"] as const) {
  it(`${flavour} client without a GET stream hears of the change on the call's own stream, before the answer`, async () => {
    const watch = watchedFetch();
    const refusing: typeof fetch = async (input, init) =>
      (init?.method ?? "GET") === "GET" ? new Response(null, { status: 405 }) : watch.fetch(input, init);
    const client = await connect(flavour, product.url, await product.token({ name: "no-stream" }), {}, refusing);
    await search(client, select(1));
    const onCall = watch.heard().filter((heard) => heard.startsWith("tools/call"));
    assert.deepEqual(onCall, [`tools/call: ${CHANGED}`, "tools/call: answer"]);
    await search(client, select(1));
    assert.deepEqual(
      watch
        .heard()
        .filter((heard) => heard.startsWith("tools/call"))
        .slice(2),
      ["tools/call: answer"],
    );
    await client.close();
  });
}

describe("what is active", () => {
  it("belongs to one token: another of the same agent has its own, another session of the same token shares it", async () => {
    const token = await product.token({ name: "agent" });
    const first = await open("v1", { token });
    const second = await open("v2-modern", { token });
    const stranger = await open("v2-legacy", { token: await product.token({ name: "agent" }) });
    await search(first, select(4));
    assert.deepEqual(await found(first), shopTools(4));
    assert.deepEqual(await found(second), shopTools(4));
    assert.deepEqual(await found(stranger), []);
    await Promise.all([first.close(), second.close(), stranger.close()]);
  });

  it("is at most 24, the least recently used out", async () => {
    const client = await open("v2-modern");
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
    await search(client, select(...range(0, 12)));
    time.now += 1000;
    await search(client, select(...range(12, 24)));
    assert.deepEqual(await found(client), shopTools(...range(0, 24)));
    time.now += 1000;
    await client.callTool({ name: "shop__t00", arguments: {} });
    await client.callTool({ name: "tool_read", arguments: { name: "shop__t01" } });
    time.now += 1000;
    await search(client, select(30, 31));
    assert.deepEqual(await found(client), shopTools(0, 1, ...range(4, 24), 30, 31));
    await client.close();
  });

  it("stays at 24 where a tool that is active is found again among new ones, at the same moment", async () => {
    const client = await open("v2-modern");
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
    await search(client, select(...range(0, 12)));
    await search(client, select(...range(12, 24)));
    await search(client, select(0, 35));
    const listed = await found(client);
    assert.equal(listed.length, 24);
    assert.ok([0, 35].every((number) => listed.includes(shopTools(number)[0] ?? "")));
    await client.close();
  });

  it("goes after a day without use; a use keeps it", async () => {
    const client = await open("v2-modern");
    await search(client, select(1, 2));
    time.now += DAY_MS - 60_000;
    await client.callTool({ name: "shop__t02", arguments: {} });
    assert.deepEqual(await found(client), shopTools(1, 2));
    time.now += 60_000;
    assert.deepEqual(await found(client), shopTools(2));
    time.now += DAY_MS;
    assert.deepEqual(await found(client), []);
    await client.close();
  });
});

describe("lists that do not move", () => {
  it("with activation off: byte-identical before and after a find", async () => {
    const url = product.endpoint("still");
    const token = await product.token({ endpoint: "still" });
    const before = await postModern(url, token, "tools/list");
    const answer = await postModern(url, token, "tools/call", { name: "tool_search", arguments: select(1, 2) });
    assert.match(JSON.stringify(answer.message.result), /shop__t01/);
    assert.deepEqual((await postModern(url, token, "tools/list")).texts, before.texts);
    const client = await open("v1", { url, token });
    assert.deepEqual(await names(client), FIXED);
    await client.close();
  });

  it("with discovery: listed every tool is there from the start", async () => {
    const url = product.endpoint("all");
    const client = await open("v1", { url, token: await product.token({ endpoint: "all" }) });
    assert.equal((await found(client)).length, 40);
    await search(client, select(1));
    assert.equal((await found(client)).length, 40);
    await client.close();
  });

  it("pinned tools are listed to everyone", async () => {
    const url = product.endpoint("pinned");
    const client = await open("v2-legacy", { url, token: await product.token({ endpoint: "pinned" }) });
    assert.deepEqual(await found(client), shopTools(7));
    await search(client, select(7, 2));
    assert.deepEqual(await found(client), shopTools(2, 7));
    await client.close();
  });
});

it("two processes on one data directory list the same bytes, and each tells what the other activated", async () => {
  const first = await startProduct({ connections: { shop: shop(upstream.url) } });
  const second = await startProduct({ directory: first.directory });
  try {
    const token = await first.token();
    const list = async (one: Product) => (await postModern(one.url, token, "tools/list")).texts;
    assert.deepEqual(await list(second), await list(first));

    const watch = watchedFetch();
    const listening = await connect("v1", second.url, token, {}, watch.fetch);
    await streaming(watch, "v1");
    const finder = await connect("v2-modern", first.url, token);
    await search(finder, select(8, 9));
    await watch.until((event) => isHeard(event, CHANGED));
    assert.deepEqual(await found(listening), shopTools(8, 9));
    assert.deepEqual(await list(second), await list(first));
    await finder.close();
    await listening.close();
  } finally {
    await second.stop();
    await first.stop();
    rmSync(first.directory, { recursive: true, force: true });
  }
});
