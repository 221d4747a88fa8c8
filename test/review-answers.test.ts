/** What a caller reads of a tool that a person has not accepted: `tool_changed` where it was granted, else nothing. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { commandBeside, servedTools } from "./fixtures/beside.ts";
import { textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { type RawCaller, rawCaller } from "./fixtures/raw.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const ERAS = ["legacy", "modern"] as const;
/** Words that nothing else here contains, so that answers can differ in the name only. */
const UNREVIEWED = "zebrak";
const UNCLASSIFIED = "quokkat";
const NONEXISTENT = "walrun";
const CHANGED = "gnufik";

let upstream: PlainUpstream;
let product: Product;

before(async () => {
  upstream = await startPlainUpstream([plainTool("stable"), plainTool(CHANGED), plainTool(UNCLASSIFIED)]);
  product = await startProduct({
    connections: {
      shop: {
        type: "mcp",
        label: "Shop",
        url: upstream.url,
        auth: { method: "none" },
        review: "strict",
        access: { read: { tools: ["stable", CHANGED, UNREVIEWED] } },
      },
    },
    endpoints: { narrow: { label: "Narrow", tools: { allow: ["shop__stable"] } } },
  });
  for (const action of ["stable", CHANGED]) {
    await commandBeside(product, "connection", "review", "shop", "--accept", action);
  }
  upstream.tools = [
    plainTool("stable"),
    plainTool(CHANGED, "Does something else now."),
    plainTool(UNCLASSIFIED),
    plainTool(UNREVIEWED),
  ];
  await commandBeside(product, "connection", "refresh", "shop");
  await servedTools(product, "shop", (tools) => stateOf(tools, CHANGED) === "changed");
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream.close();
});

const stateOf = (tools: readonly { action: string; state: string }[], action: string) =>
  tools.find((tool) => tool.action === action)?.state;
const open = async (era: "legacy" | "modern", endpoint?: string): Promise<RawCaller> =>
  rawCaller(
    era,
    endpoint ? product.endpoint(endpoint) : product.url,
    await product.token({ name: `${era}-${endpoint ?? "default"}`, ...(endpoint ? { endpoint } : {}) }),
  );

/** Every way to ask for a tool; what comes back, with the name of the tool taken out. */
async function answersFor(ask: RawCaller, action: string): Promise<Record<string, unknown>> {
  const name = `shop__${action}`;
  const call = (tool: string, args: object) => ask("tools/call", { name: tool, arguments: args });
  const answers = {
    "by name": await call(name, {}),
    "by name, wrong arguments": await call(name, { text: 1 }),
    "by bare action": await call(action, {}),
    tool_read: await call("tool_read", { name, arguments: {} }),
    tool_write: await call("tool_write", { name, arguments: {} }),
    select: await call("tool_search", { query: `select:${name}` }),
    search: await call("tool_search", { query: action }),
    "search for its description": await call("tool_search", { query: `does ${action}` }),
    "search in the connection": await call("tool_search", { query: action, connection: "shop" }),
    list: await ask("tools/list"),
  };
  return Object.fromEntries(
    Object.entries(answers).map(([way, { status, message }]) => {
      const text = JSON.stringify({ status, result: message.result, error: message.error });
      return [way, JSON.parse(text.replaceAll(action, "ACTION"))];
    }),
  );
}

for (const era of ERAS) {
  describe(`${era} caller`, () => {
    it("a tool that nobody reviewed, or that no pattern admits, answers like one that does not exist", async () => {
      const ask = await open(era);
      const nonexistent = await answersFor(ask, NONEXISTENT);
      assert.match(JSON.stringify(nonexistent["by name"]), /Unknown tool \\"shop__ACTION\\"/);
      assert.deepEqual(await answersFor(ask, UNREVIEWED), nonexistent);
      assert.deepEqual(await answersFor(ask, UNCLASSIFIED), nonexistent);
    });

    it("a changed tool says so to a caller whose grant covers it, and is not found", async () => {
      const ask = await open(era);
      const before = upstream.calls.length;
      for (const params of [
        { name: `shop__${CHANGED}`, arguments: {} },
        { name: "tool_read", arguments: { name: `shop__${CHANGED}` } },
        { name: "tool_write", arguments: { name: `shop__${CHANGED}` } },
      ]) {
        const { result } = (await ask("tools/call", params)).message;
        assert.equal(result["isError"], true);
        assert.match(textOf(result), /changed upstream and waits for a person's review/);
        const { code } = Object(Object(result["_meta"])["jackfield/error"]);
        assert.equal(code, "tool_changed");
      }
      const found = await ask("tools/call", { name: "tool_search", arguments: { query: `select:shop__${CHANGED}` } });
      assert.deepEqual(Object(found.message.result["structuredContent"]).tools, []);
      assert.equal(upstream.calls.length, before);
    });

    it("a changed tool outside the caller's grant answers like one that does not exist", async () => {
      const ask = await open(era, "narrow");
      assert.deepEqual(await answersFor(ask, CHANGED), await answersFor(ask, NONEXISTENT));
    });
  });
}

it("accepted by a person, changed and new tools work, while the rest stays as it was", async () => {
  const waiting = JSON.parse(await commandBeside(product, "connection", "review", "shop", "--json"));
  assert.deepEqual(
    waiting.map(({ action, state }: { action: string; state: string }) => [action, state]),
    [
      [CHANGED, "changed"],
      [UNCLASSIFIED, "pending"],
      [UNREVIEWED, "pending"],
    ],
  );
  await commandBeside(product, "connection", "review", "shop", "--accept", CHANGED);
  await servedTools(product, "shop", (tools) => stateOf(tools, CHANGED) === "approved");
  for (const era of ERAS) {
    const ask = await open(era);
    const call = async (name: string, args: object = {}) =>
      (await ask("tools/call", { name, arguments: args })).message;
    assert.equal(textOf((await call(`shop__${CHANGED}`)).result), CHANGED);
    const found = await call("tool_search", { query: `select:shop__${CHANGED}` });
    assert.match(JSON.stringify(found.result["structuredContent"]), /Does something else now/);
    assert.equal((await call(`shop__${UNREVIEWED}`)).error?.code, -32602);
  }
  await commandBeside(product, "connection", "review", "shop", "--accept", "*");
  await servedTools(product, "shop", (tools) => stateOf(tools, UNREVIEWED) === "approved");
  const ask = await open("modern");
  const read = await ask("tools/call", { name: "tool_read", arguments: { name: `shop__${UNREVIEWED}` } });
  assert.equal(textOf(read.message.result), UNREVIEWED);
  const outside = await ask("tools/call", { name: `shop__${UNCLASSIFIED}`, arguments: {} });
  assert.equal(outside.message.error?.code, -32602);
});
