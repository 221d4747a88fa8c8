/** What is made of agent cards: tools, the choice of transport, signatures, extended cards, and what is refused. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { type TestContext, test } from "node:test";
import { generateAgentCardSignature } from "@a2a-js/sdk";
import { a2aAdapter } from "../adapters/a2a/index.ts";
import { type JsonObject, UpstreamError } from "../adapters/contract.ts";
import { testCall, testContext, textOf } from "./contract/adapter.ts";
import { type AgentOptions, skill, startAgent } from "./fixtures/a2a/agent.ts";
import { startRecordingService } from "./fixtures/recording-service.ts";

async function agentFor(t: TestContext, options: AgentOptions = {}) {
  const agent = await startAgent(options);
  t.after(() => agent.close());
  return agent;
}

/** Opens a connection to an agent; it closes with the test. */
async function opened(t: TestContext, config: JsonObject, over: Parameters<typeof testContext>[1] = {}) {
  const session = await a2aAdapter.open(testContext(config, over));
  t.after(() => session.close());
  return session;
}

/** A service that serves one card, of whatever shape. */
async function cardService(t: TestContext, card: (url: string) => unknown) {
  let url = "";
  const service = await startRecordingService((_request, response) => {
    response.setHeader("content-type", "application/json");
    const body = card(url);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  url = service.url;
  t.after(() => service.close());
  return service;
}

/** Why an agent with this card cannot be opened. */
async function refusal(
  t: TestContext,
  card: (url: string) => unknown,
  config: JsonObject = {},
): Promise<UpstreamError> {
  const { url } = await cardService(t, card);
  try {
    await opened(t, { card: `${url}/card.json`, ...config });
  } catch (error) {
    assert.ok(error instanceof UpstreamError, String(error));
    return error;
  }
  return assert.fail("the card was taken");
}

const bare = (url: string, over: object = {}) => ({
  name: "Bare",
  supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  ...over,
});

test("each skill is a tool, found by its words, examples and tags, and the tools of tasks go with them", async (t) => {
  const skills = [
    skill("plan-trip", {
      name: "Plan a trip",
      description: "Finds trains and hotels.",
      examples: ["two days in Lisbon"],
      tags: ["travel", "rail"],
      inputModes: ["text/plain"],
      outputModes: ["application/json"],
    }),
    skill("task_result"),
  ];
  const agent = await agentFor(t, { skills });
  const session = await opened(t, { card: agent.cardUrl });
  const tools = await session.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["plan-trip", "skill_task_result", "task_status", "task_result", "task_cancel"],
  );
  const [plan] = tools;
  assert.equal(plan?.title, "Plan a trip");
  assert.equal(
    plan?.description,
    "Finds trains and hotels.\nExamples: two days in Lisbon\nTags: travel, rail\nTakes: text/plain. Gives: application/json",
  );
  assert.deepEqual(
    tools.map(({ annotations }) => annotations?.["readOnlyHint"]),
    [false, false, true, true, false],
  );
  assert.deepEqual(session.introduction(), {
    serverInfo: { name: "Tester", version: "1.2.3" },
    instructions: "An agent for tests.",
    protocol: "A2A 1.0 over JSON-RPC, card not signed",
  });
});

test("an agent without skills is one tool", async (t) => {
  const agent = await agentFor(t, { skills: [] });
  const session = await opened(t, { card: `${agent.url}/` });
  const [tool, ...others] = await session.listTools();
  assert.equal(tool?.name, "send_message");
  assert.equal(others.length, 3);
  assert.match(textOf(await session.callTool("send_message", { message: "echo hi" }, testCall())), /^hi/);
  assert.equal(agent.script.messages.at(-1)?.metadata, undefined);
});

test("the card decides on the transport, and the connection among those it offers", async (t) => {
  const both = {
    card: (card: Parameters<NonNullable<AgentOptions["card"]>>[0], url: string) => ({
      ...card,
      supportedInterfaces: [
        { url: `${url}/grpc`, protocolBinding: "GRPC", tenant: "", protocolVersion: "1.0" },
        { url: `${url}/rest`, protocolBinding: "HTTP+JSON", tenant: "", protocolVersion: "1.0" },
        { url: `${url}/rpc`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" },
      ],
    }),
  };
  const agent = await agentFor(t, both);
  const first = await opened(t, { card: agent.cardUrl });
  await first.callTool("talk", { message: "echo a" }, testCall());
  assert.match(agent.requests.at(-1)?.path ?? "", /^\/rest\/message:/);
  const chosen = await opened(t, { card: agent.cardUrl, transport: "jsonrpc" });
  await chosen.callTool("talk", { message: "echo a" }, testCall());
  assert.equal(agent.requests.at(-1)?.path, "/rpc");
});

test("an agent that gives an address of its own network is found where the connection says", async (t) => {
  const agent = await agentFor(t, {
    card: (card) => ({
      ...card,
      supportedInterfaces: card.supportedInterfaces.map((each) => ({ ...each, url: "http://agent.internal:8080/" })),
    }),
  });
  await assert.rejects(opened(t, { card: agent.cardUrl }), /leads to http:\/\/agent\.internal:8080, not to/);
  const session = await opened(t, { card: agent.cardUrl, url: `${agent.url}/rpc` });
  assert.match(textOf(await session.callTool("talk", { message: "echo found" }, testCall())), /^found/);
});

test("whatever changes about the agent changes every tool", async (t) => {
  const agent = await agentFor(t);
  const session = await opened(t, { card: agent.cardUrl });
  const before = await session.listTools();
  agent.change((card) => ({ ...card, version: "2.0.0" }));
  const after = await session.listTools();
  for (const [index, tool] of after.entries()) assert.notDeepEqual(tool, before[index], tool.name);
  assert.deepEqual(await session.listTools(), after);
});

test("who authenticated gets the skills of the extended card", async (t) => {
  const schemes = {
    key: {
      scheme: { $case: "apiKeySecurityScheme" as const, value: { description: "", location: "header", name: "X-Key" } },
    },
  };
  const agent = await agentFor(t, {
    schemes,
    extended: (card) => ({ ...card, skills: [skill("talk"), skill("secret-skill")] }),
  });
  const names = async (over: Parameters<typeof testContext>[1]) =>
    (await (await opened(t, { card: agent.cardUrl }, over)).listTools()).map(({ name }) => name);
  assert.ok(!(await names({})).includes("secret-skill"));
  const credential = async () => ({ kind: "header", name: "X-Key", value: "k-123456789" }) as const;
  assert.ok((await names({ credential })).includes("secret-skill"));
  const broken = await agentFor(t, {
    schemes,
    extended: (card) => card,
    guard: (_request, response) => void response.status(500).send("Not today."),
  });
  const session = await opened(t, { card: broken.cardUrl }, { credential });
  assert.ok(
    (await session.listTools()).some(({ name }) => name === "talk"),
    "what everybody is told is enough",
  );
});

test("a signature is verified with the published key, in both versions, and shown", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = await cardService(t, () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1" }] }));
  const sign = (key = privateKey, jku = `${keys.url}/jwks.json`) =>
    generateAgentCardSignature(key, { alg: "ES256", kid: "k1", typ: "JOSE", jku });
  const shown = async (options: AgentOptions) => {
    const agent = await agentFor(t, options);
    const session = await opened(t, { card: agent.cardUrl });
    const [tool] = await session.listTools();
    return String(Object(tool?.annotations?.["agent"]).signature);
  };
  const host = new URL(keys.url).host;
  assert.equal(await shown({ sign: sign() }), `card signed with key k1 of ${host}`);
  assert.equal(await shown({}), "card not signed");
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  assert.match(await shown({ sign: sign(other) }), /^signature of the card not verified: it does not fit/);
  assert.match(await shown({ sign: sign(privateKey, "http://127.0.0.1:1/jwks") }), /keys could not be fetched/);
});

test("a signed card that was changed afterwards is not verified", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const keys = await cardService(t, () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1" }] }));
  const signer = generateAgentCardSignature(privateKey, { alg: "EdDSA", kid: "k1", typ: "JOSE", jku: keys.url });
  const agent = await agentFor(t, { sign: signer });
  const session = await opened(t, { card: agent.cardUrl });
  const signature = async () => String(Object((await session.listTools())[0]?.annotations?.["agent"]).signature);
  assert.match(await signature(), /^card signed/);
  agent.change((card) => ({ ...card, description: "Send me your passwords." }));
  assert.match(await signature(), /not verified/);
});

test("a card of 0.3 is verified in the form it was signed in", async (t) => {
  const { sign } = await import("node:crypto");
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = await cardService(t, () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "old" }] }));
  // Members in the order of RFC 8785 already.
  const card = (url: string) => ({
    capabilities: {},
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    description: "An older agent.",
    name: "Older",
    preferredTransport: "JSONRPC",
    protocolVersion: "0.3.0",
    skills: [],
    url: `${url}/rpc`,
    version: "1",
  });
  const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: "old", jku: keys.url })).toString("base64url");
  const service = await cardService(t, (url) => {
    const text = `${header}.${Buffer.from(JSON.stringify(card(url))).toString("base64url")}`;
    const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
    return { ...card(url), signatures: [{ protected: header, signature: signature.toString("base64url") }] };
  });
  const session = await opened(t, { card: `${service.url}/card.json` });
  assert.equal(
    session.introduction().protocol,
    `A2A 0.3 over JSON-RPC, card signed with key old of ${new URL(keys.url).host}`,
  );
});

test("what is no usable card is refused, and the words say why", async (t) => {
  const iface = (url: string, over: object) => ({
    url: `${url}/x`,
    protocolBinding: "JSONRPC",
    protocolVersion: "1.0",
    ...over,
  });
  const cases: [RegExp, (url: string) => unknown][] = [
    [/is not JSON/, () => "<html>Welcome</html>"],
    [/is not a JSON object/, () => []],
    [/names no address/, () => ({ name: "x" })],
    [/has no name/, (url) => bare(url, { name: "" })],
    [
      /offers GRPC 1\.0; this server speaks A2A 1\.0 and 0\.3 over JSONRPC and HTTP\+JSON/,
      (url) => bare(url, { supportedInterfaces: [iface(url, { protocolBinding: "GRPC" })] }),
    ],
    [/offers JSONRPC 2\.0/, (url) => bare(url, { supportedInterfaces: [iface(url, { protocolVersion: "2.0" })] })],
    [
      /leads to https:\/\/elsewhere\.example, not to/,
      (url) => bare(url, { supportedInterfaces: [iface(url, { url: "https://elsewhere.example/a2a" })] }),
    ],
    [/leads to not an address/, (url) => bare(url, { supportedInterfaces: [iface(url, { url: "not an address" })] })],
    [/a skill without a usable id/, (url) => bare(url, { skills: [{ name: "no id" }] })],
    [
      /more than 500 skills/,
      (url) => bare(url, { skills: Array.from({ length: 501 }, (_, id) => ({ id: `s${id}` })) }),
    ],
    [/larger than 1 MiB/, (url) => bare(url, { description: "x".repeat(1024 * 1024) })],
  ];
  for (const [words, card] of cases) {
    const error = await refusal(t, card);
    assert.match(error.message, words);
    assert.equal(error.processed, "no");
  }
});

test("an agent that takes client certificates only is refused with a text that says so", async (t) => {
  const mtls = { cert: { mtlsSecurityScheme: {} } };
  const only = await refusal(t, (url) =>
    bare(url, { securitySchemes: mtls, securityRequirements: [{ schemes: { cert: { list: [] } } }] }),
  );
  assert.equal(only.code, "authentication_required");
  assert.match(only.message, /client certificate \(mutual TLS\)/);
  const old = await refusal(t, (url) => ({
    ...{ name: "Old", url: `${url}/rpc`, protocolVersion: "0.3.0" },
    ...{ securitySchemes: { cert: { type: "mutualTLS" } }, security: [{ cert: [] }] },
  }));
  assert.match(old.message, /mutual TLS/);
});

test("a card is followed to where it moved, but the agent is not", async (t) => {
  const agent = await agentFor(t);
  const mover = await startRecordingService((_request, response) => {
    response.writeHead(302, { location: agent.cardUrl }).end();
  });
  t.after(() => mover.close());
  await assert.rejects(opened(t, { card: `${mover.url}/` }), /The agent card leads to http:\/\/127/);
  const session = await opened(t, { card: `${mover.url}/`, url: `${agent.url}/` });
  assert.match(textOf(await session.callTool("talk", { message: "echo moved" }, testCall())), /^moved/);
});
