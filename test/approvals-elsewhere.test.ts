/** Approvals over the API, on the command line and in the caller's own client; trying a tool from the pages. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { type Api, apiWithSession, apiWithToken, signedInMember, tokenWith } from "./fixtures/api-client.ts";
import { type AskingUpstream, startAskingUpstream } from "./fixtures/asking-upstream.ts";
import { connectV1, connectV2, FLAVOURS, type Flavour, textOf } from "./fixtures/clients.ts";
import { signInClient } from "./fixtures/oauth-client.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

type Result = Record<string, unknown>;
const codeOf = (result: Result) =>
  (result["_meta"] as { "jackfield/error"?: { code: string } })?.["jackfield/error"]?.code;

let upstream: PlainUpstream;
const asking: Partial<Record<"legacy" | "modern", AskingUpstream>> = {};
let product: Product;
let admin: Visitor;
let api: Api;

before(async () => {
  upstream = await startPlainUpstream([plainTool("send_mail"), plainTool("get_mail")]);
  asking.legacy = await startAskingUpstream("legacy");
  asking.modern = await startAskingUpstream("modern");
  const always = { write: { tools: ["*"], approval: "always" } };
  const base = { type: "mcp", auth: { method: "none" }, access: always };
  product = await startProduct({
    files: { "jackfield.yml": 'version: 1\noauth: { clientDocuments: off }\napprovals: { always: ["floored__*"] }\n' },
    connections: {
      mail: { ...base, url: upstream.url },
      own: { ...base, url: upstream.url, approvals: { decider: "caller" } },
      self: { ...base, url: upstream.url, approvals: { selfApprove: true } },
      floored: {
        ...base,
        url: upstream.url,
        access: { read: { tools: ["*"] }, approval: { "*": "never" } },
        approvals: { decider: "caller", selfApprove: true },
      },
      "legacy-asks": { ...base, url: asking.legacy.url, asks: "all", approvals: { decider: "caller" } },
      "modern-asks": { ...base, url: asking.modern.url, asks: "all", approvals: { decider: "caller" } },
    },
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
  });
  admin = await signedInAdmin(product);
  api = await apiWithSession(product, admin);
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream.close();
  await asking.legacy?.[Symbol.asyncDispose]();
  await asking.modern?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  upstream.calls.length = 0;
  await product.app.store.models.approvals.destroy({ where: {} });
});

const propose = async (tool = "mail__send_mail", text = "hello") => {
  const token = await product.token();
  const { message } = await postModern(product.url, token, "tools/call", { name: tool, arguments: { text } });
  assert.equal(codeOf(message.result), "approval_required");
  const { approval } = message.result["structuredContent"] as { approval: { id: string } };
  const run = () =>
    postModern(product.url, token, "tools/call", { name: "tool_write", arguments: { approval: approval.id } });
  return { id: approval.id, run: async () => (await run()).message.result };
};

describe("over the API", () => {
  it("an approver lists, looks and decides", async () => {
    const { id, run } = await propose();
    const list = await api.expect(200, "GET", "/approvals?state=pending");
    assert.equal(list.at("approvals", 0, "id"), id);
    const one = await api.expect(200, "GET", `/approvals/${id}`);
    assert.deepEqual(one.at("arguments"), { text: "hello" });
    assert.equal(one.at("mayApprove"), true);
    const decided = await api.expect(200, "POST", `/approvals/${id}/decision`, { decision: "approve" });
    assert.equal(decided.at("state"), "approved");
    const again = await api.expect(409, "POST", `/approvals/${id}/decision`, { decision: "refuse", reason: "x" });
    assert.equal(again.at("error", "code"), "approval_decided");
    assert.equal(textOf(await run()), "send_mail");
  });

  it("refusing takes a reason", async () => {
    const { id, run } = await propose();
    await api.expect(400, "POST", `/approvals/${id}/decision`, { decision: "refuse" });
    await api.expect(200, "POST", `/approvals/${id}/decision`, { decision: "refuse", reason: "not now" });
    assert.match(textOf(await run()), /not now/);
  });

  it("no token decides, whatever it may, and a member sees nothing of others", async () => {
    const { id } = await propose();
    const withToken = await apiWithToken(product, await tokenWith(product, "approvals:decide", "tools:use"));
    await withToken.expect(403, "POST", `/approvals/${id}/decision`, { decision: "approve" });
    const member = await apiWithSession(product, await signedInMember(product));
    await member.expect(404, "GET", `/approvals/${id}`);
    await member.expect(404, "POST", `/approvals/${id}/decision`, { decision: "approve" });
    assert.deepEqual((await member.expect(200, "GET", "/approvals")).at("approvals"), []);
    assert.equal((await product.app.store.models.approvals.findByPk(id))?.state, "pending");
  });
});

describe("POST /api/tools/try", () => {
  const attempt = async (name: string, more: object = {}) => {
    const answer = await api.expect(200, "POST", "/tools/try", { name, arguments: { text: "hi" }, ...more });
    return answer.at("result") as Result;
  };
  const idOf = (result: Result) => (result["structuredContent"] as { approval: { id: string } }).approval.id;
  const decide = (id: string) => api.call("POST", `/approvals/${id}/decision`, { decision: "approve" });

  it("asks for approvals like every door, and one's own call needs somebody else", async () => {
    const result = await attempt("mail__send_mail");
    assert.equal(codeOf(result), "approval_required");
    const refused = await decide(idOf(result));
    assert.equal(refused.status, 403);
    assert.equal(refused.at("error", "code"), "approval_not_yours");
    await api.expect(200, "POST", `/approvals/${idOf(result)}/decision`, {
      decision: "refuse",
      reason: "taken back",
    });
    assert.deepEqual(upstream.calls, []);
  });

  it("with selfApprove or decider: caller the person decides, and the try runs", async () => {
    for (const name of ["self__send_mail", "own__send_mail"]) {
      const id = idOf(await attempt(name));
      assert.equal((await decide(id)).status, 200, name);
      assert.equal(textOf(await attempt(name, { arguments: undefined, approval: id })), "send_mail");
    }
    assert.equal(upstream.calls.length, 2);
  });

  it("below the operator's floor it is always another person", async () => {
    const result = await attempt("floored__get_mail");
    assert.equal(codeOf(result), "approval_required");
    assert.equal((await decide(idOf(result))).at("error", "code"), "approval_not_yours");
  });

  it("an unknown tool and a foreign endpoint are nothing; tokens do not try", async () => {
    assert.equal(codeOf(await attempt("mail__nothing")), "unknown_tool");
    await api.expect(404, "POST", "/tools/try", { endpoint: "nowhere", name: "mail__send_mail" });
    const withToken = await apiWithToken(product, await tokenWith(product, "tools:use"));
    await withToken.expect(403, "POST", "/tools/try", { name: "mail__send_mail" });
  });
});

describe("in the caller's own client", () => {
  type Answer = { action: "accept" | "decline" | "cancel"; content?: Record<string, string> };
  async function caller(flavour: Flavour, token: string, answer: (message: string) => Answer) {
    const capabilities = { elicitation: { form: {} } };
    if (flavour === "v1") {
      const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
      const client = await connectV1(product.url, token, { capabilities });
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({ ...answer(params.message) }));
      return {
        call: async (name: string, args: object): Promise<Result> => ({
          ...(await client.callTool({ name, arguments: { ...args } })),
        }),
        close: () => client.close(),
      };
    }
    const client: Client = await connectV2(product.url, token, flavour === "v2-modern" ? "modern" : "legacy", {
      capabilities,
    });
    client.setRequestHandler("elicitation/create", ({ params }) => ({ ...answer(String(params.message)) }));
    return {
      call: async (name: string, args: object): Promise<Result> => ({
        ...(await client.callTool({ name, arguments: { ...args } })),
      }),
      close: () => client.close(),
    };
  }
  const yes: Answer = { action: "accept", content: { decision: "approve" } };
  const personToken = async () => (await signInClient(product, admin)).tokens.access_token;

  for (const flavour of FLAVOURS) {
    it(`${flavour}: a signed-in person reads the exact call and approves it, in one call`, async () => {
      const seen: string[] = [];
      const client = await caller(flavour, await personToken(), (message) => {
        seen.push(message);
        return yes;
      });
      assert.equal(textOf(await client.call("own__send_mail", { text: "mine" })), "send_mail");
      assert.equal(seen.length, 1);
      assert.match(seen[0] ?? "", /own__send_mail.*"text": "mine"/s);
      assert.equal(upstream.calls.length, 1);
      await client.close();
    });

    for (const [said, code] of [
      [{ action: "decline" }, "approval_refused"],
      [{ action: "accept", content: { decision: "refuse" } }, "approval_refused"],
      [{ action: "cancel" }, "approval_required"],
    ] as const) {
      it(`${flavour}: ${JSON.stringify(said)} runs nothing and is asked once`, async () => {
        let asked = 0;
        const client = await caller(flavour, await personToken(), () => {
          asked += 1;
          return said;
        });
        assert.equal(codeOf(await client.call("own__send_mail", { text: said.action + code })), code);
        assert.equal(asked, 1);
        assert.deepEqual(upstream.calls, []);
        await client.close();
      });
    }

    for (const era of ["legacy", "modern"] as const) {
      it(`${flavour} client, ${era} upstream: the upstream's own question is part of the approved call`, async () => {
        const asked: string[] = [];
        const client = await caller(flavour, await personToken(), (message) => {
          asked.push(message);
          return asked.length === 1 ? yes : { action: "accept", content: { name: "Ada" } };
        });
        const result = await client.call(`${era}-asks__ask_name`, {});
        assert.deepEqual(JSON.parse(textOf(result)), { action: "accept", content: { name: "Ada" } });
        assert.equal(asked.length, 2, asked.join("\n"));
        await client.close();
      });
    }
  }

  it("an agent's client is never asked", async () => {
    let asked = 0;
    const client = await caller("v2-modern", await product.token(), () => {
      asked += 1;
      return yes;
    });
    assert.equal(codeOf(await client.call("own__send_mail", { text: "agent" })), "approval_required");
    assert.equal(asked, 0);
    await client.close();
  });
});
