/** The contract of adapters, for both that speak to HTTP APIs; and what is special about declared endpoints. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { after, before, test } from "node:test";
import type { JsonObject } from "../adapters/contract.ts";
import { httpAdapter } from "../adapters/http/index.ts";
import { openapiAdapter } from "../adapters/openapi/index.ts";
import { adapterContract, resultOf, testCall, testContext } from "./contract/adapter.ts";
import { documentOf } from "./fixtures/openapi-session.ts";
import { type Answer, type RecordingService, startRecordingService } from "./fixtures/recording-service.ts";

const answer: Answer = (request, response) => {
  if (request.url.startsWith("/fail")) return response.writeHead(507).end("The disk is full.");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ data: { url: decodeURIComponent(request.url), body: request.body.toString() } }));
};

/** An API whose `/wait` answers nothing, and how it tells that a call came there and was given up. */
async function startWaitingService() {
  const events = new EventEmitter();
  const service = await startRecordingService((request, response) => {
    if (!request.url.startsWith("/wait")) return answer(request, response);
    response.on("close", () => events.emit("cancelled"));
    events.emit("arrived");
  });
  const wait = {
    action: "wait",
    arrived: () => once(events, "arrived"),
    cancelled: () => once(events, "cancelled"),
  };
  return { service, wait };
}

const echo = { action: "echo", args: (text: string) => ({ text }) };
const fail = { action: "fail", says: /disk is full/ };

adapterContract(
  "openapi",
  openapiAdapter,
  async () => {
    const { service, wait } = await startWaitingService();
    const text = { name: "text", in: "query", schema: { type: "string" } };
    const document = documentOf(
      {
        "/echo": { get: { operationId: "echo", parameters: [text] } },
        "/fail": { post: { operationId: "fail" } },
        "/wait": { get: { operationId: "wait" } },
      },
      { servers: [{ url: service.url }] },
    );
    const context = testContext({ specText: JSON.stringify(document) });
    return { context, echo, fail, wait, stop: () => service.close() };
  },
  { progress: false },
);

adapterContract(
  "http",
  httpAdapter,
  async () => {
    const { service, wait } = await startWaitingService();
    const endpoints = [
      { name: "echo", method: "GET", path: "/echo", arguments: { text: { type: "string" } } },
      { name: "fail", method: "POST", path: "/fail" },
      { name: "wait", method: "GET", path: "/wait" },
    ];
    const context = testContext({ baseUrl: service.url, endpoints });
    return { context, echo, fail, wait, stop: () => service.close() };
  },
  { progress: false },
);

let service: RecordingService;
before(async () => {
  service = await startRecordingService(answer);
});
after(() => service.close());

async function callEndpoint(endpoint: JsonObject, args: JsonObject) {
  const session = await httpAdapter.open(
    testContext({ baseUrl: `${service.url}/v1/`, endpoints: [{ name: "op", ...endpoint }] }),
  );
  const [tool] = await session.listTools();
  assert.ok(tool);
  const outcome = await session.callTool("op", httpAdapter.prepare(tool, args).args, testCall());
  return { tool, result: resultOf(outcome), arrived: service.last() };
}

test("an endpoint's arguments go where it says, and fixed values with them", async () => {
  const { tool, arrived } = await callEndpoint(
    {
      method: "POST",
      path: "/services/{service}/deploys",
      arguments: {
        version: { type: "string" },
        dry: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        size: { type: "integer", default: 20 },
      },
      required: ["version"],
      query: { per_page: "{size}", from: "a b" },
      headers: { "X-Tags": "{tags}", "X-Source": "chat" },
      json: { deploy: { version: "{version}", dry_run: "{dry}", by: "{nobody}" }, list: ["{version}", 1] },
    },
    { service: "a/b", version: "1", dry: false, tags: ["x", "y"] },
  );
  assert.equal(arrived.url, "/v1/services/a%2Fb/deploys?from=a%20b&per_page=20");
  assert.equal(arrived.headers["x-tags"], "x,y");
  assert.equal(arrived.headers["x-source"], "chat");
  assert.deepEqual(JSON.parse(arrived.body.toString()), { deploy: { version: "1", dry_run: false }, list: ["1", 1] });
  assert.deepEqual(tool.inputSchema["required"], ["service", "version"]);
  assert.equal(tool.annotations?.["readOnlyHint"], false);
});

test("arguments that nothing places go into the query, or into the JSON body", async () => {
  const declared = { arguments: { a: {}, b: { type: "array" } } };
  const got = await callEndpoint({ method: "GET", path: "/x", ...declared }, { a: "1", b: [1, 2] });
  assert.equal(got.arrived.url, "/v1/x?a=1&b=1&b=2");
  const posted = await callEndpoint({ method: "POST", path: "/x", ...declared }, { a: "1", b: [1, 2] });
  assert.equal(posted.arrived.body.toString(), '{"a":"1","b":[1,2]}');
});

test("a form goes as one, and an endpoint may call itself a read", async () => {
  const { tool, arrived } = await callEndpoint(
    { method: "POST", path: "/search", arguments: { term: {} }, form: { q: "{term}", format: "json" }, class: "read" },
    { term: "a&b" },
  );
  assert.equal(arrived.headers["content-type"], "application/x-www-form-urlencoded");
  assert.equal(arrived.body.toString(), "q=a%26b&format=json");
  assert.equal(tool.annotations?.["readOnlyHint"], true);
});

test("only the part of the answer that was asked for is passed on", async () => {
  const { result } = await callEndpoint({ method: "GET", path: "/x", pick: "/data/url" }, {});
  assert.deepEqual(result["structuredContent"], { result: "/v1/x" });
  const { result: missing } = await callEndpoint({ method: "GET", path: "/x", pick: "/none" }, {});
  assert.match(JSON.stringify(missing["content"]), /nothing at \/none/);
});
