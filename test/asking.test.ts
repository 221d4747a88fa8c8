/** A question of the upstream in mid-call, in every pair of eras (MCP 2026-07-28 input_required, and the older way). */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { type AskingUpstream, startAskingUpstream } from "./fixtures/asking-upstream.ts";
import { connectV1, connectV2, FLAVOURS, type Flavour, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

type Handler = (params: { message?: string }) => object;
interface Answers {
  elicit?: Handler;
  sample?: Handler;
  roots?: Handler;
}
type Caller = { callTool(name: string): Promise<{ text: string; isError: boolean }>; close(): Promise<void> };

const upstreams: Partial<Record<"legacy" | "modern", AskingUpstream>> = {};
let product: Product;

before(async () => {
  upstreams.legacy = await startAskingUpstream("legacy");
  upstreams.modern = await startAskingUpstream("modern");
  const base = (era: "legacy" | "modern") => ({
    type: "mcp",
    label: `The ${era} one`,
    url: upstreams[era]?.url,
    auth: { method: "none" },
    access: { read: { tools: ["*"] } },
  });
  product = await startProduct({
    connections: {
      "legacy-asks": { ...base("legacy"), asks: "all" },
      "modern-asks": { ...base("modern"), asks: "all" },
      "legacy-quiet": base("legacy"),
      "modern-quiet": base("modern"),
    },
  });
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstreams.legacy?.[Symbol.asyncDispose]();
  await upstreams.modern?.[Symbol.asyncDispose]();
});

async function caller(flavour: Flavour, answers: Answers): Promise<Caller> {
  const token = await product.token({ name: `agent-${flavour}` });
  const capabilities = {
    ...(answers.elicit ? { elicitation: { form: {} } } : {}),
    ...(answers.sample ? { sampling: {} } : {}),
    ...(answers.roots ? { roots: {} } : {}),
  };
  if (flavour === "v1") {
    const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = await import(
      "@modelcontextprotocol/sdk/types.js"
    );
    const client = await connectV1(product.url, token, { capabilities });
    const { elicit, sample, roots } = answers;
    if (elicit) client.setRequestHandler(ElicitRequestSchema, (request) => ({ ...elicit(request.params) }));
    if (sample)
      client.setRequestHandler(CreateMessageRequestSchema, () => ({
        model: "m",
        role: "assistant" as const,
        content: { type: "text" as const, text: "" },
        ...sample({}),
      }));
    if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [], ...roots({}) }));
    return {
      async callTool(name) {
        const { content, isError } = await client.callTool({ name, arguments: {} });
        return { text: textOf({ content }), isError: isError === true };
      },
      close: () => client.close(),
    };
  }
  const client: Client = await connectV2(product.url, token, flavour === "v2-modern" ? "modern" : "legacy", {
    capabilities,
  });
  const { elicit, sample, roots } = answers;
  if (elicit)
    client.setRequestHandler("elicitation/create", (request) => ({
      action: "cancel" as const,
      ...elicit(request.params),
    }));
  if (sample)
    client.setRequestHandler("sampling/createMessage", () => ({
      model: "m",
      role: "assistant" as const,
      content: { type: "text" as const, text: "" },
      ...sample({}),
    }));
  if (roots) client.setRequestHandler("roots/list", () => ({ roots: [], ...roots({}) }));
  return {
    async callTool(name) {
      const result = await client.callTool({ name, arguments: {} });
      return { text: textOf(result), isError: result.isError === true };
    },
    close: () => client.close(),
  };
}

for (const flavour of FLAVOURS) {
  for (const era of ["legacy", "modern"] as const) {
    describe(`${flavour} client, ${era} upstream`, () => {
      it("a form is answered by the caller, who reads which connection asks", async () => {
        const seen: string[] = [];
        const client = await caller(flavour, {
          elicit: ({ message = "" }) => {
            seen.push(message);
            return { action: "accept", content: { name: "Ada" } };
          },
        });
        const { text } = await client.callTool(`${era}-asks__ask_name`);
        assert.deepEqual(JSON.parse(text), { action: "accept", content: { name: "Ada" } });
        assert.deepEqual(seen, [`The ${era} one: What is your name?`]);
        await client.close();
      });

      it("several questions of one call are asked one after another", async () => {
        const seen: string[] = [];
        const client = await caller(flavour, {
          elicit: ({ message = "" }) => {
            seen.push(message);
            return { action: "accept", content: { name: message.length.toString() } };
          },
        });
        const { isError } = await client.callTool(`${era}-asks__ask_twice`);
        assert.equal(isError, false);
        assert.deepEqual(seen, [`The ${era} one: What is your name?`, `The ${era} one: And your surname?`]);
        await client.close();
      });

      it("sampling and roots reach a caller that declares them", async () => {
        const client = await caller(flavour, {
          sample: () => ({ content: { type: "text", text: "sampled" } }),
          roots: () => ({ roots: [{ uri: "file:///work" }] }),
        });
        assert.match((await client.callTool(`${era}-asks__ask_model`)).text, /sampled/);
        assert.match((await client.callTool(`${era}-asks__ask_roots`)).text, /file:\/\/\/work/);
        await client.close();
      });

      it("a caller that declines is not asked again, and the call ends", async () => {
        let asked = 0;
        const client = await caller(flavour, {
          elicit: () => {
            asked += 1;
            return { action: "decline" };
          },
        });
        const { isError } = await client.callTool(`${era}-asks__ask_twice`);
        assert.equal(asked, 1);
        assert.equal(isError, true);
        await client.close();
      });

      it("a caller that cannot be asked is told what to do", async () => {
        const client = await caller(flavour, {});
        const { text, isError } = await client.callTool(`${era}-asks__ask_name`);
        assert.equal(isError, true);
        assert.match(text, /The (legacy|modern) one/);
        await client.close();
      });

      it("a connection that may not ask does not reach the caller", async () => {
        let asked = 0;
        const client = await caller(flavour, {
          elicit: () => {
            asked += 1;
            return { action: "accept", content: { name: "Ada" } };
          },
        });
        const { isError } = await client.callTool(`${era}-quiet__ask_name`);
        assert.deepEqual([asked, isError], [0, true]);
        assert.equal((await client.callTool(`${era}-quiet__plain`)).text, "plain");
        await client.close();
      });
    });
  }
}

interface Answer {
  result: { resultType?: string; requestState: string; inputRequests: object; isError?: boolean; content?: unknown };
  error: { code: number };
}

describe("request state of a modern caller", () => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  async function call(token: string, params: { name: string; [key: string]: unknown }) {
    const response = await fetch(product.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": params.name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { arguments: {}, ...params, _meta },
      }),
    });
    return (await response.json()) as Answer;
  }
  const accept = { action: "accept", content: { name: "Ada" } };

  for (const era of ["legacy", "modern"] as const) {
    it(`${era} upstream: a state that was tampered with, or is another principal's, is refused; the right one works once`, async () => {
      const token = await product.token({ name: `state-${era}` });
      const name = `${era}-asks__ask_name`;
      const { result } = await call(token, { name });
      assert.equal(result.resultType, "input_required");
      const [key] = Object.keys(result.inputRequests);
      const retry = { name, requestState: result.requestState, inputResponses: { [key ?? ""]: accept } };
      const forged = `${result.requestState.slice(0, -2)}AA`;
      assert.equal((await call(token, { ...retry, requestState: forged })).error.code, -32602);
      const stranger = await product.token({ name: `stranger-${era}` });
      assert.equal((await call(stranger, retry)).error.code, -32602);
      const other = { ...retry, arguments: { note: "changed" } };
      assert.equal((await call(token, other)).error.code, -32602);
      assert.match(textOf((await call(token, retry)).result), /Ada/);
      if (era === "legacy") {
        const again = await call(token, retry);
        assert.equal(again.result.isError, true, "an answered question is gone");
      }
    });

    it(`${era} upstream: a retry without the answer is asked again`, async () => {
      const token = await product.token({ name: `again-${era}` });
      const name = `${era}-asks__ask_name`;
      const first = (await call(token, { name })).result;
      const second = (await call(token, { name, requestState: first.requestState })).result;
      assert.equal(second.resultType, "input_required");
      const [key] = Object.keys(second.inputRequests);
      const last = await call(token, {
        name,
        requestState: second.requestState,
        inputResponses: { [key ?? ""]: accept },
      });
      assert.match(textOf(last.result), /Ada/);
    });
  }
});
