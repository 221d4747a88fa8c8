/**
 * A caller who may not use a tool cannot learn that it exists. Two products, one whose service has the tool, hidden in
 * one of the ways there are, and one whose service never had it: every answer is the same, byte for byte.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Product, startProduct } from "./fixtures/product.ts";
import { rawCaller } from "./fixtures/raw.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const HIDDEN = plainTool("purge_mailbox", "Purges a whole mailbox for ever.");
const SEEN = [plainTool("get_mail", "Reads one message."), plainTool("send_mail", "Sends a message.")];

/** How the tool is hidden from the caller. */
const WAYS: Record<string, { access?: object; endpoint?: object; forbid?: string[] }> = {
  "has no class": { access: { read: { tools: ["get_*"] }, write: { tools: ["send_*"] } } },
  "is disabled": { access: { read: { tools: ["get_*"] }, write: { tools: ["*"] }, disable: ["purge_*"] } },
  "is not granted": { endpoint: { tools: { allow: ["mail__get_mail", "mail__send_mail"] } } },
  "is forbidden by the endpoint": { endpoint: { tools: { forbid: ["*__purge_*"] } } },
  "is forbidden by the environment": { forbid: ["mail__purge_mailbox"] },
};

const NAME = "mail__purge_mailbox";
const QUESTIONS: [string, Record<string, unknown>][] = [
  ["tools/list", {}],
  ["tools/call", { name: NAME, arguments: { text: "x" } }],
  ["tools/call", { name: NAME, arguments: { unknown: 1 } }],
  ["tools/call", { name: "purge_mailbox", arguments: {} }],
  ["tools/call", { name: "mail__purge-mailbox", arguments: {} }],
  ["tools/call", { name: "tool_read", arguments: { name: NAME, arguments: {} } }],
  ["tools/call", { name: "tool_write", arguments: { name: NAME, arguments: {} } }],
  ["tools/call", { name: "tool_write", arguments: { name: NAME, approval: "01JZZZZZZZZZZZZZZZZZZZZZZZ" } }],
  ["tools/call", { name: "tool_search", arguments: { query: "purge a whole mailbox for ever" } }],
  ["tools/call", { name: "tool_search", arguments: { query: `select:${NAME}` } }],
  ["tools/call", { name: "tool_search", arguments: { query: "select:purge_mailbox" } }],
  ["tools/call", { name: "tool_search", arguments: { connection: "mail" } }],
  ["tools/call", { name: "tool_search", arguments: {} }],
  ["prompts/get", { name: NAME }],
  ["resources/read", { uri: `jackfield://mail/${NAME}` }],
];

let withTool: PlainUpstream;
let without: PlainUpstream;
before(async () => {
  withTool = await startPlainUpstream([...SEEN, HIDDEN]);
  without = await startPlainUpstream(SEEN);
});
after(async () => {
  await withTool.close();
  await without.close();
});

function productFor(url: string, { access, endpoint, forbid = [] }: (typeof WAYS)[string] = {}): Promise<Product> {
  const environment = `version: 1\nenvironment: { tools: { forbid: ${JSON.stringify(forbid)} } }\n`;
  const open = { read: { tools: ["get_*"] }, write: { tools: ["*"] } };
  return startProduct({
    connections: { mail: { type: "mcp", url, auth: { method: "none" }, access: access ?? open } },
    endpoints: { default: endpoint ?? {} },
    files: { "environments/main/environment.yml": environment },
  });
}

for (const [title, way] of Object.entries(WAYS)) {
  describe(`a tool that ${title}`, () => {
    it("is answered about as one that never was, in both eras and by every door", async () => {
      await using hidden = await productFor(withTool.url, way);
      await using never = await productFor(without.url, way);
      const visible = (product: Product) =>
        product.app.registry
          .connections()
          .flatMap(({ tools }) => tools.map(({ name }) => name))
          .includes(NAME);
      assert.equal(visible(never), false);
      for (const era of ["legacy", "modern"] as const) {
        const ask = await rawCaller(era, hidden.url, await hidden.token());
        const askOther = await rawCaller(era, never.url, await never.token());
        for (const [method, params] of QUESTIONS) {
          const { status, texts } = await ask(method, params);
          const other = await askOther(method, params);
          assert.deepEqual(
            { status, texts },
            { status: other.status, texts: other.texts },
            `${era} ${method} ${JSON.stringify(params)}`,
          );
        }
      }
      assert.ok(!withTool.calls.some(({ name }) => name === HIDDEN.name));
    });
  });
}

it("the comparison would see a difference", async () => {
  await using open = await productFor(withTool.url);
  const ask = await rawCaller("modern", open.url, await open.token());
  const { message } = await ask("tools/call", { name: NAME, arguments: {} });
  assert.equal(message.result["isError"], undefined);
  withTool.calls.length = 0;
});
