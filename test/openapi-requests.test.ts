/** Every style, body and placement, executed against a service that looks at what arrived. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { JsonObject } from "../adapters/contract.ts";
import { textOf } from "./contract/adapter.ts";
import { documentOf, type OpenedDocument, openDocument } from "./fixtures/openapi-session.ts";
import { type RecordingService, startRecordingService } from "./fixtures/recording-service.ts";

let service: RecordingService;
before(async () => {
  service = await startRecordingService();
});
after(() => service.close());
afterEach(() => {
  service.requests.length = 0;
});

const open = (document: JsonObject, config: JsonObject = {}) =>
  openDocument(document, { baseUrl: `${service.url}/api`, ...config });

function parameter(name: string, place: string, more: JsonObject = {}): JsonObject {
  return { name, in: place, schema: {}, ...(place === "path" ? { required: true } : {}), ...more };
}

function getWith(path: string, ...parameters: JsonObject[]): JsonObject {
  return documentOf({ [path]: { get: { operationId: "op", parameters } } });
}

const LIST = ["blue", "a,b c"];
const OBJECT = { R: 100, G: "x&y" };

// OpenAPI 3.1, 4.8.12.4 "Style Examples", with values that need encoding.
const QUERIES: [string, JsonObject, unknown, string][] = [
  ["form, exploded list", {}, LIST, "?c=blue&c=a%2Cb%20c"],
  ["form, list", { explode: false }, LIST, "?c=blue,a%2Cb%20c"],
  ["form, exploded object", {}, OBJECT, "?R=100&G=x%26y"],
  ["form, object", { explode: false }, OBJECT, "?c=R,100,G,x%26y"],
  ["spaceDelimited", { style: "spaceDelimited" }, LIST, "?c=blue%20a%2Cb%20c"],
  ["pipeDelimited", { style: "pipeDelimited" }, LIST, "?c=blue%7Ca%2Cb%20c"],
  [
    "deepObject",
    { style: "deepObject" },
    { R: 1, in: { x: [1, 2] } },
    "?c%5BR%5D=1&c%5Bin%5D%5Bx%5D=1&c%5Bin%5D%5Bx%5D=2",
  ],
  ["allowReserved", { allowReserved: true }, "a/b?c&d", "?c=a/b?c%26d"],
  [
    "content",
    { schema: undefined, content: { "application/json": { schema: {} } } },
    { a: [1] },
    "?c=%7B%22a%22%3A%5B1%5D%7D",
  ],
  ["false", {}, false, "?c=false"],
  ["zero", {}, 0, "?c=0"],
  ["the empty text", {}, "", "?c="],
  ["null", {}, null, ""],
];

for (const [what, more, value, query] of QUERIES) {
  test(`query: ${what}`, async () => {
    const { call } = await open(getWith("/q", parameter("c", "query", more)));
    await call("op", { c: value });
    assert.equal(service.last().url, `/api/q${query}`);
  });
}

const PATHS: [string, JsonObject, unknown, string][] = [
  ["simple", {}, "a/b ?é", "a%2Fb%20%3F%C3%A9"],
  ["simple, list", {}, LIST, "blue,a%2Cb%20c"],
  ["simple, object", {}, OBJECT, "R,100,G,x%26y"],
  ["simple, exploded object", { explode: true }, OBJECT, "R=100,G=x%26y"],
  ["label, list", { style: "label" }, LIST, ".blue,a%2Cb%20c"],
  ["label, exploded list", { style: "label", explode: true }, LIST, ".blue.a%2Cb%20c"],
  ["label, exploded object", { style: "label", explode: true }, OBJECT, ".R=100.G=x%26y"],
  ["matrix", { style: "matrix" }, "v", ";c=v"],
  ["matrix, list", { style: "matrix" }, LIST, ";c=blue,a%2Cb%20c"],
  ["matrix, exploded list", { style: "matrix", explode: true }, LIST, ";c=blue;c=a%2Cb%20c"],
  ["matrix, exploded object", { style: "matrix", explode: true }, OBJECT, ";R=100;G=x%26y"],
];

for (const [what, more, value, segment] of PATHS) {
  test(`path: ${what}`, async () => {
    const { call } = await open(getWith("/p/{c}/z", parameter("c", "path", more)));
    await call("op", { c: value });
    assert.equal(service.last().url, `/api/p/${segment}/z`);
  });
}

for (const value of [".", "..", "%2e%2E", ""]) {
  test(`path: ${JSON.stringify(value)} would be another path and is not sent`, async () => {
    const { call } = await open(getWith("/p/{c}/z", parameter("c", "path")));
    const outcome = await call("op", { c: value });
    assert.match(textOf(outcome), /^Not sent: c /);
    assert.equal(service.requests.length, 0);
  });
}

test("headers and cookies carry their values, and line ends are not sent", async () => {
  const document = getWith(
    "/h",
    parameter("X-List", "header"),
    parameter("sid", "cookie"),
    parameter("X-O", "header", { explode: true }),
  );
  const { call } = await open(document);
  await call("op", { "X-List": ["a", "b"], sid: "s 1", "X-O": OBJECT });
  const { headers } = service.last();
  assert.equal(headers["x-list"], "a,b");
  assert.equal(headers["x-o"], "R=100,G=x&y");
  assert.equal(headers.cookie, "sid=s%201");
  const outcome = await call("op", { "X-List": "a\r\nX-Evil: 1" });
  assert.match(textOf(outcome), /line ends/);
  assert.equal(service.requests.length, 1);
});

for (const [lists, query] of [
  ["brackets", "?c%5Bx%5D%5B%5D=1&c%5Bx%5D%5B%5D=2"],
  ["indexed", "?c%5Bx%5D%5B0%5D=1&c%5Bx%5D%5B1%5D=2"],
] as const) {
  test(`lists inside deepObject are written as the connection says: ${lists}`, async () => {
    const { call } = await open(getWith("/q", parameter("c", "query", { style: "deepObject" })), { deepLists: lists });
    await call("op", { c: { x: [1, 2] } });
    assert.equal(service.last().url, `/api/q${query}`);
  });
}

function postWith(content: JsonObject): JsonObject {
  return documentOf({ "/b": { post: { operationId: "op", requestBody: { required: true, content } } } });
}

test("of several media types JSON is sent, with its parameters as declared", async () => {
  const schema = { type: "object" };
  const { call } = await open(postWith({ "text/xml": { schema }, "application/json; v=2": { schema } }));
  await call("op", { body: { a: [1, null] } });
  assert.equal(service.last().headers["content-type"], "application/json; v=2");
  assert.deepEqual(JSON.parse(service.last().body.toString()), { a: [1, null] });
});

test("a form is a pair per value; lists as its encoding says, objects as JSON", async () => {
  const properties = { a: {}, many: {}, joined: {}, deep: {}, o: {} };
  const encoding = { joined: { explode: false }, deep: { style: "deepObject" } };
  const { call } = await open(postWith({ "application/x-www-form-urlencoded": { schema: { properties }, encoding } }));
  await call("op", { body: { a: "x & y", many: [1, 2], joined: [1, 2], deep: { k: "v" }, o: { k: 1 }, gone: null } });
  assert.equal(service.last().headers["content-type"], "application/x-www-form-urlencoded");
  assert.equal(
    service.last().body.toString(),
    "a=x+%26+y&many=1&many=2&joined=1%2C2&deep%5Bk%5D=v&o=%7B%22k%22%3A1%7D",
  );
});

test("multipart carries files as bytes, objects as JSON, and the types that its encoding names", async () => {
  const properties = {
    picture: { type: "string", format: "binary" },
    more: { type: "array", items: { type: "string", contentEncoding: "base64" } },
    meta: { type: "object" },
    tags: { type: "array", items: { type: "string" } },
  };
  const encoding = { picture: { contentType: "image/png" } };
  const { call, tools } = await open(
    postWith({ "multipart/form-data": { schema: { type: "object", properties }, encoding } }),
  );
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
  const data = bytes.toString("base64");
  const body = {
    picture: { data, filename: 'a".png' },
    more: [{ data }, { data, contentType: "text/x" }],
    meta: { a: 1 },
    tags: ["x", "y"],
  };
  await call("op", { body });
  const { headers, body: sent } = service.last();
  const form = await new Response(new Uint8Array(sent), {
    headers: { "content-type": headers["content-type"] ?? "" },
  }).formData();
  const picture = form.get("picture");
  assert.ok(picture instanceof File);
  assert.equal(picture.name, 'a".png');
  assert.equal(picture.type, "image/png");
  assert.deepEqual(Buffer.from(await picture.arrayBuffer()), bytes);
  const types = form.getAll("more").map((file) => (file instanceof File ? file.type : "text"));
  assert.deepEqual(types, ["application/octet-stream", "text/x"]);
  assert.deepEqual(form.getAll("tags"), ["x", "y"]);
  assert.match(sent.toString("latin1"), /name="meta"\r\nContent-Type: application\/json\r\n\r\n\{"a":1\}/);
  assert.match(
    JSON.stringify(tools[0]?.inputSchema),
    /"data":\{"type":"string","description":"asset:\/\/ handle or base64"\}/,
  );
});

test("text, XML and bytes go as they are", async () => {
  for (const [type, given, sent] of [
    ["text/plain", "hé", "hé"],
    ["application/xml", "<a/>", "<a/>"],
    ["application/octet-stream", { data: Buffer.from("bytes").toString("base64") }, "bytes"],
  ] as const) {
    const { call } = await open(postWith({ [type]: { schema: { type: "string" } } }));
    await call("op", { body: given });
    assert.equal(service.last().headers["content-type"], type);
    assert.equal(service.last().body.toString(), sent);
  }
});

test("Swagger 2.0: each collectionFormat, a referenced body, and a file", async () => {
  const list = (name: string, collectionFormat?: string) => ({
    name,
    in: "query",
    type: "array",
    items: { type: "string" },
    ...(collectionFormat ? { collectionFormat } : {}),
  });
  const { call } = await open({
    swagger: "2.0",
    info: { title: "t", version: "1" },
    parameters: { Body: { in: "body", name: "any", schema: { type: "object" } } },
    paths: {
      "/l": {
        get: {
          operationId: "l",
          parameters: [list("d"), list("s", "ssv"), list("t", "tsv"), list("p", "pipes"), list("m", "multi")],
        },
      },
      "/r": { post: { operationId: "r", parameters: [{ $ref: "#/parameters/Body" }] } },
      "/f": {
        post: {
          operationId: "f",
          parameters: [
            { in: "formData", name: "doc", type: "file" },
            { in: "formData", name: "n", type: "integer" },
          ],
        },
      },
    },
  });
  const two = ["1", "2"];
  await call("l", { d: two, s: two, t: two, p: two, m: two });
  assert.equal(service.last().url, "/api/l?d=1,2&s=1%202&t=1%092&p=1%7C2&m=1&m=2");
  await call("r", { body: { a: 1 } });
  assert.equal(service.last().body.toString(), '{"a":1}');
  await call("f", { body: { doc: { data: "aGk=" }, n: 0 } });
  assert.match(service.last().headers["content-type"] ?? "", /^multipart\/form-data; boundary=/);
  assert.match(
    service.last().body.toString(),
    /name="doc"; filename="doc"[\s\S]*\r\n\r\nhi\r\n[\s\S]*name="n"\r\n\r\n0\r\n/,
  );
});

test("operations that differ in the query or fragment of their path stay apart", async () => {
  const { call } = await open(
    documentOf({
      "/?Action=List": { get: { operationId: "list" } },
      "/#Target=A": { post: { operationId: "a" } },
      "/#Target=B": { post: { operationId: "b" } },
    }),
  );
  await call("list");
  assert.equal(service.last().url, "/api/?Action=List");
  await call("b");
  assert.equal(service.last().url, "/api/");
});

test("an idempotency key is filled in, fresh for each call, unless one is given", async () => {
  const keyed = {
    post: { operationId: "own", parameters: [parameter("Idempotency-Key", "header", { required: true })] },
  };
  const document = documentOf({
    "/own": keyed,
    "/other": { post: { operationId: "other" }, put: { operationId: "put" } },
  });
  const { call, tools } = await open(document, { idempotencyHeader: "X-Once" });
  assert.equal(tools.find(({ name }) => name === "own")?.inputSchema["required"], undefined);
  await call("own");
  await call("own");
  await call("own", { "Idempotency-Key": "mine" });
  const [first, second, third] = service.requests.map(({ headers }) => headers["idempotency-key"]);
  assert.match(String(first), /^[0-9a-f-]{36}$/);
  assert.notEqual(first, second);
  assert.equal(third, "mine");
  await call("other");
  assert.match(String(service.last().headers["x-once"]), /^[0-9a-f-]{36}$/);
  await call("put");
  assert.equal(service.last().headers["x-once"], undefined);
});

test("arguments of one name in two places do not meet", async () => {
  const document: JsonObject = documentOf({
    "/{id}": {
      put: {
        operationId: "op",
        parameters: [parameter("id", "path"), parameter("id", "query"), parameter("body", "query")],
        requestBody: { content: { "application/json": {} } },
      },
    },
  });
  const { call }: OpenedDocument = await open(document);
  await call("op", { id: "p", id__query: "q", body__query: "b", body: { id: "j" } });
  assert.equal(service.last().url, "/api/p?id=q&body=b");
  assert.equal(service.last().body.toString(), '{"id":"j"}');
});
