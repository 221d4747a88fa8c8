/** A call that a person must approve: proposed, decided, run once, and every way in which it is not. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { textOf } from "./fixtures/clients.ts";
import { signedInPerson } from "./fixtures/connection-sign-in.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct, writeConfig } from "./fixtures/product.ts";
import { postModern, type RawAnswer } from "./fixtures/raw.ts";
import { type PlainUpstream, plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

const MINUTE = 60_000;
const FILES = { "jackfield.yml": "version: 1\napprovals: { validFor: 30m }\n" };
const TOOL = "mail__send_mail";

let upstream: PlainUpstream;
let product: Product;
let admin: Visitor;
let token: string;
let now = Date.now();

const connection = (more: object = {}) => ({
  type: "mcp",
  url: upstream.url,
  auth: { method: "none" },
  access: { read: { tools: ["get_*"] }, write: { tools: ["send_*"], approval: "always" } },
  ...more,
});

before(async () => {
  upstream = await startPlainUpstream([plainTool("send_mail"), plainTool("send_other"), plainTool("get_mail")]);
  product = await startProduct({
    files: FILES,
    connections: { mail: connection() },
    clock: () => now,
    approvalWaitMs: 60_000,
  });
  admin = await signedInAdmin(product);
});
after(async () => {
  await product[Symbol.asyncDispose]();
  await upstream.close();
});
beforeEach(async () => {
  upstream.calls.length = 0;
  await product.app.store.models.approvals.destroy({ where: {} });
  token = await product.token();
});

type Result = Record<string, unknown>;
const resultOf = ({ message }: RawAnswer): Result => message.result;
const call = async (name: string, args: object, at: { token?: string; url?: string } = {}) =>
  resultOf(await postModern(at.url ?? product.url, at.token ?? token, "tools/call", { name, arguments: args }));
const write = (args: object, at: { token?: string; url?: string } = {}) => call("tool_write", args, at);
const codeOf = (result: Result) =>
  (result["_meta"] as { "jackfield/error"?: { code: string } })?.["jackfield/error"]?.code;
const idOf = (result: Result): string => {
  assert.equal(codeOf(result), "approval_required", textOf(result));
  return (result["structuredContent"] as { approval: { id: string } }).approval.id;
};
const propose = async (args: object = { text: "hello" }) => idOf(await call(TOOL, args));
const decide = (id: string, decision: "approve" | "refuse", reason = "", by = admin) =>
  by.get(`/approvals/${id}`).then(() => by.post(`/approvals/${id}`, { decision, reason }));
const approve = async (id: string) => assert.equal((await decide(id, "approve")).location, `/approvals/${id}`);
const audit = async (id: string) => {
  await product.app.audit.flush();
  const { auditEvents } = product.app.store.models;
  return auditEvents.findAll({ where: { rule: `approval:${id}` }, order: [["id", "ASC"]] });
};

describe("a call that needs an approval", () => {
  it("is answered with what happens next, and nothing reaches the service", async () => {
    const result = await call(TOOL, { text: "hello" });
    const id = idOf(result);
    assert.equal(result["isError"], true);
    assert.deepEqual(result["structuredContent"], {
      status: "approval_required",
      approval: {
        id,
        url: new URL(`/approvals/${id}`, product.url).href,
        decider: "approver",
        expiresAt: new Date(now + 30 * MINUTE).toISOString(),
        tool: TOOL,
        run: { tool: "tool_write", arguments: { name: TOOL, approval: id } },
      },
    });
    for (const part of [id, `/approvals/${id}`, "tool_write"]) assert.ok(textOf(result).includes(part), textOf(result));
    assert.deepEqual(upstream.calls, []);
  });

  it("asked again, by whatever door, is the same approval; with other arguments it is another", async () => {
    const id = await propose();
    assert.equal(await propose(), id);
    assert.equal(idOf(await write({ name: TOOL, arguments: { text: "hello" } })), id);
    assert.notEqual(await propose({ text: "other" }), id);
    assert.notEqual(idOf(await call("mail__send_other", { text: "hello" })), id);
  });

  it("runs exactly what was approved by the id alone, once", async () => {
    const id = await propose({ text: "exactly this" });
    assert.equal(idOf(await write({ name: TOOL, approval: id })), id, "not before it is approved");
    await approve(id);
    assert.equal(textOf(await write({ approval: id })), "send_mail");
    assert.deepEqual(upstream.calls, [{ name: "send_mail", args: { text: "exactly this" } }]);
    assert.equal(codeOf(await write({ name: TOOL, approval: id })), "approval_used");
    assert.equal(upstream.calls.length, 1);
  });

  it("is found by the identical call by name, once; the next one is proposed anew", async () => {
    const id = await propose();
    await approve(id);
    assert.equal(textOf(await call(TOOL, { text: "hello" })), "send_mail");
    assert.notEqual(await propose(), id);
    assert.equal(upstream.calls.length, 1);
  });

  it("leaves three events: proposed, decided by whom, executed", async () => {
    const id = await propose();
    await approve(id);
    await write({ name: TOOL, approval: id });
    const events = (await audit(id)).map(({ door, decision, outcome, outcomeCode, principalName, toolName }) => ({
      ...{ door, decision, outcome, outcomeCode, principalName, toolName },
    }));
    assert.deepEqual(events, [
      {
        door: "by_name",
        decision: "needs_approval",
        outcome: "refused",
        outcomeCode: "approval_required",
        principalName: "agent",
        toolName: TOOL,
      },
      {
        door: "approval",
        decision: "allow",
        outcome: "ok",
        outcomeCode: "approval_granted",
        principalName: "Dana Reyes",
        toolName: TOOL,
      },
      {
        door: "tool_write",
        decision: "allow",
        outcome: "ok",
        outcomeCode: null,
        principalName: "agent",
        toolName: TOOL,
      },
    ]);
    const digests = new Set((await audit(id)).map(({ argumentsDigest }) => argumentsDigest));
    assert.equal(digests.size, 1, "all three are about the same arguments");
  });

  it("keeps its arguments sealed", async () => {
    const id = await propose({ text: "a secret of the caller" });
    const row = await product.app.store.models.approvals.findByPk(id);
    assert.ok(row && !JSON.stringify(row).includes("a secret of the caller"));
  });
});

describe("is refused with the reason", () => {
  it("where a person refused, also when called again unchanged", async () => {
    const id = await propose();
    assert.equal((await decide(id, "refuse", "use the shared address")).status, 303);
    for (const result of [await write({ name: TOOL, approval: id }), await call(TOOL, { text: "hello" })]) {
      assert.equal(codeOf(result), "approval_refused");
      assert.match(textOf(result), /Dana Reyes refused it\. Reason: use the shared address/);
    }
    assert.deepEqual(upstream.calls, []);
  });

  it("with other arguments than those that were approved", async () => {
    const id = await propose();
    await approve(id);
    assert.equal(codeOf(await write({ name: TOOL, approval: id, arguments: { text: "other" } })), "approval_changed");
    assert.equal(codeOf(await write({ name: "mail__send_other", approval: id })), "approval_unknown");
    idOf(await call(TOOL, { text: "hello", more: "x" }));
    assert.deepEqual(upstream.calls, []);
    assert.equal(textOf(await write({ name: TOOL, approval: id, arguments: { text: "hello" } })), "send_mail");
  });

  it("to another principal, as one that never was", async () => {
    const id = await propose();
    await approve(id);
    const other = { token: await product.token({ name: "another" }) };
    const answer = await write({ name: TOOL, approval: id }, other);
    assert.equal(codeOf(answer), "approval_unknown");
    assert.deepEqual(answer, await write({ name: TOOL, approval: "01JZZZZZZZZZZZZZZZZZZZZZZZ" }, other));
    assert.deepEqual(answer, await write({ name: TOOL, approval: "no id at all\u0000é" }, other));
    idOf(await call(TOOL, { text: "hello" }, other));
    assert.deepEqual(upstream.calls, []);
  });

  it("after its time, and says so in the audit once", async () => {
    const [undecided, unused] = [await propose(), await propose({ text: "approved" })];
    await approve(unused);
    now += 31 * MINUTE;
    await product.app.approvals.sweep.run();
    await product.app.approvals.sweep.run();
    for (const id of [undecided, unused]) {
      assert.equal(codeOf(await write({ name: TOOL, approval: id })), "approval_expired");
      assert.deepEqual(
        (await audit(id)).filter(({ outcomeCode, door }) => outcomeCode === "approval_expired" && door === "approval")
          .length,
        1,
      );
    }
    assert.equal((await decide(undecided, "approve")).status, 422);
    assert.notEqual(await propose(), undecided);
    assert.deepEqual(upstream.calls, []);
  });

  it("once the policy was edited, approved or not", async () => {
    const [first, second] = [await propose(), await propose({ text: "second" })];
    await approve(first);
    const endpoint = { tools: { allow: [{ tool: TOOL, args: { text: ["*"] } }] } };
    writeConfig(`${product.directory}/config`, { endpoints: { default: endpoint } });
    await product.app.reload();
    await product.app.registry.reload();
    assert.equal(codeOf(await write({ name: TOOL, approval: first })), "approval_changed");
    assert.notEqual(await propose(), first);
    const page = await decide(second, "approve");
    assert.equal(page.status, 422);
    assert.match(page.text, /policy or the tool changed/);
    assert.deepEqual(upstream.calls, []);
    writeConfig(`${product.directory}/config`, { endpoints: { default: {} } });
    await product.app.reload();
    await product.app.registry.reload();
  });

  it("where the arguments are too much for a person to read", async () => {
    assert.equal(codeOf(await call(TOOL, { text: "x".repeat(300_000) })), "approval_impossible");
  });
});

describe("who decides", () => {
  it("a member without the right sees nothing of it and cannot", async () => {
    const id = await propose();
    const member = await signedInPerson(product, { username: "mel", role: "member" });
    assert.equal((await member.get(`/approvals/${id}`)).status, 404);
    await member.get("/sign-out");
    assert.equal((await member.post(`/approvals/${id}`, { decision: "approve" })).status, 404);
    assert.ok(!(await member.get("/approvals")).text.includes(id));
    const row = await product.app.store.models.approvals.findByPk(id);
    assert.equal(row?.state, "pending");
  });

  it("two people at once: one decision stands, the other is told", async () => {
    const id = await propose();
    const answers = await Promise.all([decide(id, "approve"), decide(id, "refuse", "no")]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 422]);
  });

  it("a form of another site, or without its token, decides nothing", async () => {
    const id = await propose();
    await admin.get(`/approvals/${id}`);
    const forged = await admin.post(`/approvals/${id}`, { decision: "approve", csrf: "x" });
    assert.equal(forged.status, 403);
    const foreign = await admin.post(`/approvals/${id}`, { decision: "approve" }, { "sec-fetch-site": "cross-site" });
    assert.equal(foreign.status, 403);
    assert.equal((await product.app.store.models.approvals.findByPk(id))?.state, "pending");
  });

  it("refusing needs a reason", async () => {
    const id = await propose();
    const answer = await decide(id, "refuse", " ");
    assert.equal(answer.status, 422);
    assert.match(answer.text, /Say why/);
  });
});

describe("a call that can wait", () => {
  it("goes on as soon as a person approves, and was told where", async () => {
    const waiting = postModern(
      product.url,
      token,
      "tools/call",
      { name: TOOL, arguments: { text: "wait" } },
      { progressToken: 1 },
    );
    const id = await pendingId();
    await approve(id);
    const { texts, message } = await waiting;
    assert.equal(textOf(message.result), "send_mail");
    assert.ok(
      texts.some((text) => text.includes(`/approvals/${id}`) && text.includes("notifications/progress")),
      texts.join(),
    );
  });

  it("is answered with the reason as soon as a person refuses", async () => {
    const waiting = postModern(
      product.url,
      token,
      "tools/call",
      { name: TOOL, arguments: { text: "wait" } },
      { progressToken: 1 },
    );
    await decide(await pendingId(), "refuse", "not today");
    assert.match(textOf((await waiting).message.result), /not today/);
  });

  it("does not run where its token was revoked meanwhile", async () => {
    const waiting = postModern(
      product.url,
      token,
      "tools/call",
      { name: TOOL, arguments: { text: "wait" } },
      { progressToken: 1 },
    );
    const id = await pendingId();
    const row = await product.app.store.models.agentTokens.findOne({ order: [["id", "DESC"]] });
    assert.ok(row);
    await product.app.tokens.revoke(row.organizationId, row.id);
    await approve(id);
    assert.equal(codeOf((await waiting).message.result), "approval_changed");
    assert.deepEqual(upstream.calls, []);
  });

  async function pendingId(): Promise<string> {
    for (;;) {
      const row = await product.app.store.models.approvals.findOne({ where: { state: "pending" } });
      if (row) return row.id;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
});

it("the page shows the exact call, with what hides in it, and who asks", async () => {
  const id = await propose({ text: "to\u202egpj.exe <b>bold</b>" });
  const { text, status, headers } = await admin.get(`/approvals/${id}`);
  assert.equal(status, 200);
  assert.ok(text.includes("to\\u202egpj.exe &lt;b&gt;bold&lt;/b&gt;"), text);
  for (const part of ["agent", "default", "mail", "UTC", TOOL]) assert.ok(text.includes(part), part);
  assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
  assert.ok((await admin.get("/approvals")).text.includes(`/approvals/${id}`));
});
