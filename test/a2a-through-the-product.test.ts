/** Agents as connections of the whole product: found, called, asked back, reviewed, called back, told who calls. */
import assert from "node:assert/strict";
import { after, before, describe, it, test } from "node:test";
import type { Client } from "@modelcontextprotocol/client";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { RequestHandler } from "express";
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import { skill, startAgent, type TestAgent } from "./fixtures/a2a/agent.ts";
import { connect, connectV1, connectV2, FLAVOURS, type Flavour, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

type Result = Record<string, unknown>;
const stateOf = (result: Result) => Object(result["structuredContent"]);

describe("agents in the product", () => {
  let agents: Record<"new" | "old", TestAgent>;
  let product: Product;
  before(async () => {
    agents = {
      new: await startAgent({ version: "1.0", transport: "rest", streaming: false, push: true }),
      old: await startAgent({ version: "0.3", transport: "jsonrpc" }),
    };
    const connection = (agent: TestAgent, over: object = {}) => ({
      type: "a2a",
      label: "Researcher",
      card: agent.cardUrl,
      asks: "elicitation",
      access: "suggested",
      ...over,
    });
    product = await startProduct({
      connections: {
        "new-one": connection(agents.new),
        "old-one": connection(agents.old),
        quiet: connection(agents.new, { asks: "none" }),
        hasty: connection(agents.new, { wait: 1 }),
      },
    });
  });
  after(async () => {
    await product[Symbol.asyncDispose]();
    await agents.new.close();
    await agents.old.close();
  });

  it("a skill is found by its example, called as a write, and audited as one", async () => {
    const client = await connect("v2-modern", product.url, await product.token());
    const found = textOf(await client.callTool({ name: "tool_search", arguments: { query: "echo hello", limit: 3 } }));
    assert.match(found, /\w__talk/);
    const args = { name: "new-one__talk", arguments: { message: "echo it works" } };
    assert.match(textOf(await client.callTool({ name: "tool_write", arguments: args })), /^it works/);
    const refused = await client.callTool({ name: "tool_read", arguments: args });
    assert.equal(refused.isError, true);
    await client.close();
    const events = await product.app.store.models.auditEvents.findAll({ where: { action: "talk" } });
    assert.ok(events.some((event) => event.class === "write" && event.outcome === "ok"));
  });

  for (const flavour of FLAVOURS) {
    for (const which of ["new", "old"] as const) {
      it(`${flavour} client, ${which} agent: what the agent needs is asked of the caller`, async () => {
        const asked: string[] = [];
        const { call, close } = await asking(flavour, product, (message) => {
          asked.push(message);
          return { action: "accept", content: { answer: "ultramarine" } };
        });
        const result = await call(`${which}-one__talk`, { message: "ask" });
        assert.match(textOf(result), /You said: ultramarine/);
        assert.deepEqual(asked, ["Researcher: Which colour?"]);
        await close();
      });
    }

    it(`${flavour} client: who declines, or may not be asked, is told how to go on`, async () => {
      const declining = await asking(flavour, product, () => ({ action: "decline" }));
      const declined = await declining.call("new-one__talk", { message: "ask" });
      assert.equal(stateOf(declined).state, "input-required", textOf(declined));
      const quiet = await declining.call("quiet__talk", { message: "ask" });
      const { task, state } = stateOf(quiet);
      assert.equal(state, "input-required");
      assert.match(textOf(await declining.call("quiet__talk", { message: "red", task })), /You said: red/);
      await declining.close();
    });
  }

  it("a handle works in another session of the same agent, and for no other agent", async () => {
    const token = await product.token({ name: "owner" });
    const first = await connect("v1", product.url, token);
    const begun = await first.callTool({ name: "hasty__talk", arguments: { message: "hang" } });
    const { task } = stateOf(begun);
    await first.close();
    const ask = async (of: string) => {
      const client = await connect("v2-modern", product.url, of);
      const result = await client.callTool({
        name: "tool_read",
        arguments: { name: "hasty__task_status", arguments: { task } },
      });
      await client.close();
      return result;
    };
    assert.equal(stateOf(await ask(token)).state, "working");
    assert.match(textOf(await ask(await product.token({ name: "stranger" }))), /There is no task/);
  });
});

async function asking(
  flavour: Flavour,
  product: Product,
  answer: (message: string) => { action: "accept" | "decline"; content?: { answer: string } },
) {
  const token = await product.token({ name: `asked-${flavour}` });
  const capabilities = { elicitation: { form: {} } };
  if (flavour === "v1") {
    const client = await connectV1(product.url, token, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message));
    return {
      call: async (name: string, args: object): Promise<Result> => ({
        ...(await client.callTool({ name, arguments: { ...args } })),
      }),
      close: () => client.close(),
    };
  }
  const era = flavour === "v2-modern" ? "modern" : "legacy";
  const client: Client = await connectV2(product.url, token, era, { capabilities });
  client.setRequestHandler("elicitation/create", ({ params }) => answer(params.message));
  return {
    call: (name: string, args: object): Promise<Result> => client.callTool({ name, arguments: { ...args } }),
    close: () => client.close(),
  };
}

test("the agent calls back with the secret of the task; anybody else is turned away", async (t) => {
  // Over REST the registration of a callback has a path of its own.
  const agent = await startAgent({ transport: "rest", streaming: false, push: true });
  t.after(() => agent.close());
  const connections = { one: { type: "a2a", card: agent.cardUrl, access: "suggested" } };
  await using product = await startProduct({ connections });
  const client = await connect("v1", product.url, await product.token());
  const registered = agent.answered(/pushNotificationConfigs$/);
  const running = client.callTool({ name: "one__talk", arguments: { message: "hang" } });
  await registered;
  const { upstreamTasks } = product.app.store.models;
  const [row] = await upstreamTasks.findAll({ where: { kind: "task" } });
  assert.ok(row?.secretHash);
  const { id } = row;
  const url = new URL(`/tasks/callback/${id}`, product.url);
  for (const headers of [{}, { authorization: "Bearer wrong" }, { "x-a2a-notification-token": "wrong" }]) {
    assert.equal((await fetch(url, { method: "POST", headers, body: "{}" })).status, 404);
  }
  assert.equal((await upstreamTasks.findByPk(id))?.toldAt, null);
  agent.script.release("called back");
  assert.match(textOf(await running), /called back/);
  await client.close();
  // The agent sends one notification after another, and the last one may come after the result.
  while ((await upstreamTasks.findByPk(id))?.toldAt === null) await new Promise((resolve) => setTimeout(resolve, 20));
});

test("an agent whose card changed is refused until a person has looked at it", async (t) => {
  const agent = await startAgent({ skills: [skill("talk")] });
  t.after(() => agent.close());
  const connections = { one: { type: "a2a", card: agent.cardUrl, access: "suggested" } };
  const first = await startProduct({ connections });
  const token = await first.token();
  const call = async (url: string) => {
    const client = await connect("v1", url, token);
    const result = await client.callTool({ name: "one__talk", arguments: { message: "echo trusted" } });
    await client.close();
    return result;
  };
  assert.match(textOf(await call(first.url)), /^trusted/);
  await first.stop();
  agent.change((card) => ({ ...card, provider: { organization: "Somebody else", url: "" } }));
  const messages = agent.script.messages.length;
  await using second = await startProduct({ connections, directory: first.directory });
  const refused = await call(second.url);
  assert.equal(refused.isError, true);
  assert.match(textOf(refused), /definition changed upstream/);
  assert.equal(agent.script.messages.length, messages);
});

test("an agent learns who calls, verifies it with our public keys alone, and takes no statement for another", async (t) => {
  let issuer = "";
  const verdicts: string[] = [];
  /** A third party: all it knows of us is our address. */
  const verifies =
    (own: () => string): RequestHandler =>
    async (request, response, next) => {
      const statement = request.get("jackfield-assertion");
      if (statement === undefined) return void response.status(401).send("Who calls?");
      try {
        const metadata = Object(await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json());
        const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));
        const options = { issuer, audience: own(), algorithms: ["ES256"], maxTokenAge: 130 };
        const { payload } = await jwtVerify(statement, keys, options);
        verdicts.push(JSON.stringify(payload));
        next();
      } catch (error) {
        verdicts.push(String(error));
        response.status(401).send("Not for me.");
      }
      return undefined;
    };
  const agentWith = async () => {
    let own = "";
    const agent = await startAgent({ transport: "jsonrpc", guard: verifies(() => own) });
    own = `${agent.url}/rpc`;
    t.after(() => agent.close());
    return agent;
  };
  const [one, two] = [await agentWith(), await agentWith()];
  const silent = await startAgent();
  t.after(() => silent.close());
  const of = (agent: TestAgent, over: object = {}) => ({
    type: "a2a",
    card: agent.cardUrl,
    access: "suggested",
    ...over,
  });
  await using product = await startProduct({
    connections: { one: of(one, { assertion: "on" }), two: of(two, { assertion: "on" }), silent: of(silent) },
  });
  issuer = new URL(product.url).origin;
  const token = await product.token({ name: "night-agent" });
  const client = await connect("v1", product.url, token);
  const result = await client.callTool({ name: "one__talk", arguments: { message: "echo known" } });
  assert.match(textOf(result), /^known/, verdicts.join("\n"));
  const claims = JSON.parse(verdicts.at(-1) ?? "{}");
  const [agent] = await product.app.store.models.agents.findAll();
  assert.equal(claims.iss, issuer);
  assert.equal(claims.aud, `${one.url}/rpc`);
  assert.equal(claims.sub, agent?.id);
  assert.equal(claims.organization, "default");
  assert.equal(claims.principal_kind, "agent");
  assert.equal(claims.exp - claims.iat, 120);

  const statement = String(one.requests.at(-1)?.headers["jackfield-assertion"]);
  const replay = (to: TestAgent) =>
    fetch(`${to.url}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0", "jackfield-assertion": statement },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "x" } }),
    });
  assert.equal((await replay(one)).status, 200, "it is good where it belongs");
  assert.equal((await replay(two)).status, 401);
  assert.match(verdicts.at(-1) ?? "", /unexpected "aud"/);
  const [head = "", , signature = ""] = statement.split(".");
  const forged = { ...decodeJwt(statement), aud: `${two.url}/rpc` };
  const tampered = `${head}.${Buffer.from(JSON.stringify(forged)).toString("base64url")}.${signature}`;
  const keys = createRemoteJWKSet(new URL("/oauth/jwks", issuer));
  await assert.rejects(jwtVerify(tampered, keys), /signature verification failed/);

  assert.match(textOf(await client.callTool({ name: "two__talk", arguments: { message: "echo also" } })), /^also/);
  await client.callTool({ name: "silent__talk", arguments: { message: "echo quiet" } });
  await client.close();
  assert.ok(silent.requests.length > 0 && silent.requests.every(({ headers }) => !("jackfield-assertion" in headers)));
  for (const { requests } of [one, two, silent]) {
    for (const { headers } of requests) assert.ok(!JSON.stringify(headers).includes(token), "the caller's own token");
  }
  const published = JSON.stringify(await (await fetch(new URL("/oauth/jwks", issuer))).json());
  assert.doesNotMatch(published, /"d"/);
});

test("an agent that repeats the statement about its caller is not repeated", async (t) => {
  const guard: RequestHandler = (request, response, next) => {
    const { method, id } = request.body ?? {};
    if (method !== "SendMessage") return next();
    const message = {
      messageId: "m",
      role: "ROLE_AGENT",
      parts: [{ text: `You are ${request.get("jackfield-assertion")}` }],
    };
    return void response.json({ jsonrpc: "2.0", id, result: { message } });
  };
  const agent = await startAgent({ guard, streaming: false });
  t.after(() => agent.close());
  const connection = { type: "a2a", card: agent.cardUrl, access: "suggested", assertion: "on" };
  await using product = await startProduct({ connections: { one: connection } });
  const client = await connect("v1", product.url, await product.token());
  const result = await client.callTool({ name: "one__talk", arguments: { message: "x" } });
  await client.close();
  assert.match(textOf(result), /^You are \[secret\]/);
});
