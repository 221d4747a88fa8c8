/** Where a credential goes, where it does not, and what happens when it is refused. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import {
  type AdapterContext,
  type Credential,
  type JsonObject,
  type Refusal,
  UpstreamError,
} from "../adapters/contract.ts";
import { readConfig } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";
import { textOf } from "./contract/adapter.ts";
import { documentOf, openDocument } from "./fixtures/openapi-session.ts";
import { type Answer, type RecordingService, startRecordingService } from "./fixtures/recording-service.ts";

let service: RecordingService;
let other: RecordingService;
let answer: Answer;
const plain: Answer = (_request, response) => response.end("done");

before(async () => {
  service = await startRecordingService((request, response) => answer(request, response));
  other = await startRecordingService(plain);
});
after(() => Promise.all([service.close(), other.close()]));
beforeEach(() => {
  answer = plain;
  service.requests.length = 0;
  other.requests.length = 0;
});

const SCHEMES: JsonObject = {
  head: { type: "apiKey", in: "header", name: "X-Key" },
  query: { type: "apiKey", in: "query", name: "key" },
  cookie: { type: "apiKey", in: "cookie", name: "sid" },
  basic: { type: "http", scheme: "Basic" },
  bearer: { type: "http", scheme: "bearer" },
  oauth: { type: "oauth2", flows: {} },
  oidc: { type: "openIdConnect", openIdConnectUrl: "https://id.example/" },
  mutual: { type: "mutualTLS" },
};

interface Held {
  credential?: Credential;
  over?: Partial<AdapterContext>;
  schemes?: JsonObject;
  /** Of the document as a whole. */
  security?: JsonObject[];
}

async function callWith(security: JsonObject[] | undefined, held: Held = {}) {
  const operation = { operationId: "op", ...(security === undefined ? {} : { security }) };
  const more = {
    components: { securitySchemes: held.schemes ?? SCHEMES },
    ...(held.security ? { security: held.security } : {}),
  };
  const document = documentOf({ "/op": { get: operation, post: operation } }, more);
  const post = { ...document, paths: { "/op": { get: operation, post: { ...operation, operationId: "post" } } } };
  const { call } = await openDocument(
    post,
    { baseUrl: service.url },
    { credential: async () => held.credential, ...held.over },
  );
  return call;
}

const bearer: Credential = { kind: "bearer", token: "token-1234" };
const BASIC = `Basic ${Buffer.from("ann:pä:ss").toString("base64")}`;

const PLACED: [string, Credential, Record<string, string>, string][] = [
  ["head", { kind: "header", name: "X-Key", value: "k" }, { "x-key": "k" }, "/op"],
  ["query", { kind: "query", name: "key", value: "k&k" }, {}, "/op?key=k%26k"],
  ["cookie", { kind: "cookie", name: "sid", value: "k" }, { cookie: "sid=k" }, "/op"],
  ["basic", { kind: "basic", username: "ann", password: "pä:ss" }, { authorization: BASIC }, "/op"],
  ["bearer", bearer, { authorization: "Bearer token-1234" }, "/op"],
  ["oauth", bearer, { authorization: "Bearer token-1234" }, "/op"],
  ["oidc", bearer, { authorization: "Bearer token-1234" }, "/op"],
];

for (const [scheme, credential, headers, url] of PLACED) {
  test(`a credential for ${scheme} goes where the scheme says`, async () => {
    const call = await callWith([{ [scheme]: [] }], { credential });
    await call("op");
    const arrived = service.last();
    assert.equal(arrived.url, url);
    for (const name of ["x-key", "cookie", "authorization"]) assert.equal(arrived.headers[name], headers[name], name);
  });
}

test("the first alternative is taken whose schemes all have credentials", async () => {
  const credential: Credential = {
    kind: "several",
    schemes: {
      head: { kind: "header", name: "X-Key", value: "a" },
      query: { kind: "query", name: "key", value: "b" },
      bearer: { kind: "bearer", token: "c" },
    },
  };
  const call = await callWith([{ head: [], basic: [] }, { head: [], query: [] }, { bearer: [] }], { credential });
  await call("op");
  assert.equal(service.last().url, "/op?key=b");
  assert.equal(service.last().headers["x-key"], "a");
  assert.equal(service.last().headers.authorization, undefined);
});

test("no alternative that could be taken: nothing is sent, and the caller is told what is missing", async () => {
  const call = await callWith([{ head: [], query: [] }, { mutual: [] }], {
    credential: { kind: "header", name: "X-Key", value: "a" },
  });
  await assert.rejects(call("op"), (error) => {
    assert.ok(error instanceof UpstreamError);
    assert.equal(error.code, "authentication_required");
    assert.match(error.message, /credential for head and query/);
    assert.equal(error.processed, "no");
    return true;
  });
  assert.equal(service.requests.length, 0);
});

test("optional means without, where there is none", async () => {
  await (await callWith([{}, { bearer: [] }]))("op");
  assert.equal(service.last().headers.authorization, undefined);
  await (await callWith([{}, { bearer: [] }], { credential: bearer }))("op");
  assert.equal(service.last().headers.authorization, "Bearer token-1234");
});

test("an operation that takes nothing gets nothing, and one that says nothing gets what the administrator set", async () => {
  await (await callWith([], { credential: bearer, security: [{ bearer: [] }] }))("op");
  assert.equal(service.last().headers.authorization, undefined);
  await (await callWith(undefined, { credential: bearer, schemes: {} }))("op");
  assert.equal(service.last().headers.authorization, "Bearer token-1234");
  await (await callWith([{ head: [] }], { credential: bearer, schemes: { head: SCHEMES["head"] } }))("op");
  assert.equal(service.last().headers.authorization, "Bearer token-1234", "a scheme that the document lacks");
});

test("a refused credential is asked for once more, and the same request is sent again", async () => {
  const refusals: (Refusal | undefined)[] = [];
  const credential = async (refused?: Refusal): Promise<Credential> => {
    refusals.push(refused);
    return { kind: "bearer", token: refused ? "new-token" : "old-token" };
  };
  answer = ({ headers }, response) => {
    if (headers.authorization === "Bearer new-token") return response.end("done");
    response.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token"' }).end("no");
  };
  const call = await callWith([{ bearer: [] }], { over: { credential } });
  assert.equal(textOf(await call("post")), "done");
  assert.deepEqual(
    service.requests.map(({ headers }) => headers.authorization),
    ["Bearer old-token", "Bearer new-token"],
  );
  assert.equal(refusals[1]?.status, 401);
  assert.equal(refusals[1]?.challenge, 'Bearer error="invalid_token"');
});

test("refused twice, it is told and not tried again", async () => {
  let asked = 0;
  answer = (_request, response) => response.writeHead(401).end("who?");
  const credential = async (): Promise<Credential> => ({ kind: "bearer", token: `token-${asked++}` });
  const call = await callWith([{ bearer: [] }], { over: { credential } });
  assert.match(textOf(await call("op")), /HTTP 401 Unauthorized.*authorized again.*who\?/s);
  assert.equal(service.requests.length, 2);
  assert.equal(asked, 3);
});

test("a redirect on the same origin keeps the credential, one to another loses it", async () => {
  answer = ({ url }, response) => {
    if (url === "/op") return response.writeHead(302, { location: "/next" }).end();
    if (url === "/next") return response.writeHead(307, { location: `${other.url}/away` }).end();
    response.end("?");
  };
  const call = await callWith([{ bearer: [] }], { credential: bearer });
  assert.equal(textOf(await call("op")), "done");
  assert.deepEqual(
    service.requests.map(({ headers }) => headers.authorization),
    ["Bearer token-1234", "Bearer token-1234"],
  );
  assert.equal(other.last().url, "/away");
  assert.equal(other.last().headers.authorization, undefined);
});

test("what changes something is not sent to another origin", async () => {
  answer = (_request, response) => response.writeHead(308, { location: `${other.url}/away` }).end();
  const call = await callWith([{ bearer: [] }], { credential: bearer });
  const text = textOf(await call("post"));
  assert.match(text, /HTTP 308 Permanent Redirect/);
  assert.match(text, /another origin, where this call was not sent/);
  assert.equal(other.requests.length, 0);
});

test("a redirect into the own network is blocked", async (context) => {
  const { allowPrivateUpstreams: allow } = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback" });
  const egress = createEgress({ allow, closed: () => [] });
  context.after(() => egress.close());
  answer = (_request, response) =>
    response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end();
  const call = await callWith(undefined, { over: { fetchStream: egress.upstreamStream } });
  const before = service.requests.length;
  await assert.rejects(call("op"), (error) => error instanceof UpstreamError && error.code === "blocked_address");
  assert.equal(service.requests.length, before + 1, "the service itself was reached");
});

test("a document that is read again cannot take the credential elsewhere", async (context) => {
  let server = service.url;
  const specs = await startRecordingService((_request, response) => {
    response.end(JSON.stringify(documentOf({ "/op": { get: { operationId: "op" } } }, { servers: [{ url: server }] })));
  });
  context.after(() => specs.close());
  const opened = await openDocument(
    {},
    { specText: undefined, spec: `${specs.url}/openapi.json` },
    { credential: async () => bearer },
  );
  assert.equal(specs.last().headers.authorization, undefined);
  await opened.call("op");
  assert.equal(service.last().headers.authorization, "Bearer token-1234");
  server = other.url;
  await assert.rejects(opened.session.listTools(), /is not one that the connection was set up with; set baseUrl/);
  await opened.call("op");
  assert.equal(service.requests.length, 2);
  assert.equal(other.requests.length, 0);
});
