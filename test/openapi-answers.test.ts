/** What a service answers, and what a model reads of it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { type Outcome, UpstreamError } from "../adapters/contract.ts";
import { resultOf, testCall, textOf } from "./contract/adapter.ts";
import { assetRoom, bytesOf } from "./fixtures/assets.ts";
import { documentOf, type OpenedDocument, openDocument } from "./fixtures/openapi-session.ts";
import { type Answer, type RecordingService, startRecordingService } from "./fixtures/recording-service.ts";

let service: RecordingService;
let answer: Answer;
let opened: OpenedDocument;

const json = (schema: object) => ({
  responses: { 200: { description: "", content: { "application/json": { schema } } } },
});

before(async () => {
  service = await startRecordingService((request, response) => answer(request, response));
  const document = documentOf({
    "/thing": {
      get: {
        operationId: "get",
        ...json({ type: "object", required: ["id"], properties: { id: { type: "integer" } } }),
      },
      post: { operationId: "post" },
    },
    "/list": { get: { operationId: "list", ...json({ type: "array", items: { type: "string" } }) } },
    "/any": { get: { operationId: "any", ...json({}) } },
  });
  opened = await openDocument(document, { baseUrl: service.url });
});
after(() => service.close());
beforeEach(() => {
  answer = (_request, response) => response.end();
});

const answers = (
  status: number,
  type: string | undefined,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
) => {
  answer = (_request, response) => {
    response.writeHead(status, { ...(type === undefined ? {} : { "content-type": type }), ...headers });
    response.end(body);
  };
};

test("JSON is given as text and as structured content, whether or not it fits what was announced", async () => {
  answers(200, "application/json", '{"id":"seven","more":null}');
  const outcome = await opened.call("get");
  assert.deepEqual(resultOf(outcome)["structuredContent"], { id: "seven", more: null });
  assert.equal(textOf(outcome), '{"id":"seven","more":null}');
  assert.equal(resultOf(outcome)["isError"], undefined);
});

test("what is no object, or may be none, is put under result, in the schema as in the answer", async () => {
  answers(200, "application/json", '["a"]');
  assert.deepEqual(resultOf(await opened.call("list"))["structuredContent"], { result: ["a"] });
  answers(200, "application/json", '{"a":1}');
  assert.deepEqual(resultOf(await opened.call("any"))["structuredContent"], { result: { a: 1 } });
  const schema = opened.tools.find(({ name }) => name === "list")?.outputSchema;
  assert.deepEqual(schema?.["properties"], {
    result: { type: ["array", "null"], items: { type: ["string", "null"] } },
  });
});

test("an output schema promises nothing that a service might not keep", () => {
  const schema = opened.tools.find(({ name }) => name === "get")?.outputSchema;
  assert.deepEqual(schema, { type: "object", properties: { id: { type: ["integer", "null"] } } });
});

test("the answer's own type counts, not the announced one", async () => {
  answers(200, "text/csv; charset=latin1", Buffer.from("é;1", "latin1"));
  assert.equal(textOf(await opened.call("get")), "é;1");
  answers(200, "application/json", "not json");
  const outcome = await opened.call("get");
  assert.equal(textOf(outcome), "not json");
  assert.equal(resultOf(outcome)["structuredContent"], undefined);
  answers(200, undefined, '{"a":1}');
  assert.deepEqual(resultOf(await opened.call("get"))["structuredContent"], { a: 1 });
});

test("no content is a success that says so", async () => {
  answers(204, undefined, "");
  const outcome = await opened.call("post");
  assert.equal(textOf(outcome), "Done: HTTP 204 No Content, without content.");
  assert.equal(resultOf(outcome)["isError"], undefined);
});

test("files are kept and told by their handle; small pictures are shown as well", async (t) => {
  const room = await assetRoom(t);
  const assets = room.keeper.of(room.owner());
  const get = () => opened.call("get", {}, { assets });
  const linkOf = (outcome: Outcome) => {
    const { content } = resultOf(outcome);
    assert.ok(Array.isArray(content));
    return content.find(({ type }) => type === "resource_link");
  };
  answers(200, "image/png", Buffer.alloc(10, 1));
  const picture = await get();
  assert.deepEqual(resultOf(picture)["content"], [
    { type: "text", text: textOf(picture) },
    linkOf(picture),
    { type: "image", data: Buffer.alloc(10, 1).toString("base64"), mimeType: "image/png" },
  ]);
  const names: [Record<string, string>, string][] = [
    [{ "content-disposition": `attachment; filename="a \\"b\\".pdf"` }, "a _b_.pdf"],
    [{ "content-disposition": "attachment; filename=x.pdf; filename*=UTF-8''%e2%82%ac%20rates.pdf" }, "€ rates.pdf"],
    [{ "content-disposition": "attachment; filename=../../etc/passwd" }, "passwd"],
    [{}, "file"],
  ];
  for (const [headers, name] of names) {
    answers(200, "application/pdf", Buffer.alloc(10, 1), headers);
    assert.equal(linkOf(await get()).name, name);
  }
  const zip = randomBytes(9_000_000);
  answers(200, "application/zip", zip);
  const outcome = await get();
  assert.equal(resultOf(outcome)["isError"], undefined);
  assert.match(textOf(outcome), /^File "file", application\/zip, 9000000 bytes, SHA-256 [0-9a-f]{64}, kept until /);
  assert.ok(JSON.stringify(outcome).length < 2000);
  const { uri } = linkOf(outcome);
  assert.ok(zip.equals(await bytesOf((await assets.read(uri)).stream())));
});

test("a file that cannot be kept is told as such, and that the call succeeded", async (t) => {
  const room = await assetRoom(t, { limits: { fileBytes: 1000 } });
  answers(200, "application/zip", Buffer.alloc(1001));
  const outcome = await opened.call("get", {}, { assets: room.keeper.of(room.owner()) });
  assert.equal(resultOf(outcome)["isError"], true);
  assert.match(textOf(outcome), /more than 1000 bytes.*The call itself succeeded \(HTTP 200\)/);
});

test("a file whose sending breaks off is a failure, and nothing of it is kept", async (t) => {
  const room = await assetRoom(t);
  answer = (_request, response) => {
    response.writeHead(200, { "content-type": "application/zip", "content-length": "1000000" });
    response.write(Buffer.alloc(300_000), () => response.destroy());
  };
  const call = opened.call("get", {}, { assets: room.keeper.of(room.owner()) });
  await assert.rejects(call, (error) => error instanceof UpstreamError && error.code === "upstream_died");
  assert.equal(await room.store.models.assets.count(), 0);
});

test("text that is too long for memory is kept as a file", async (t) => {
  const room = await assetRoom(t);
  answers(200, "text/csv", "é;1\n".repeat(4_000_000));
  const outcome = await opened.call("get", {}, { assets: room.keeper.of(room.owner()) });
  assert.match(textOf(outcome), /^File "file", text\/csv, 20000000 bytes/);
});

test("errors are results with status, reason and the body up to a limit", async () => {
  answers(404, "application/json", '{"detail":"no such thing"}');
  const missing = await opened.call("get");
  assert.equal(resultOf(missing)["isError"], true);
  assert.equal(resultOf(missing)["structuredContent"], undefined);
  assert.equal(textOf(missing), 'The service answered HTTP 404 Not Found.\n{"detail":"no such thing"}');
  answers(422, "text/plain", "y".repeat(2_000_000));
  const long = textOf(await opened.call("get"));
  assert.ok(long.length < 9000);
  assert.match(long, /the first 8192 characters of (?:2000000|more than 262144) bytes/);
  answers(500, "text/html", "<html><style>p{}</style><script>alert(1)</script><h1>Oops</h1>\n<p>Broken</p>");
  assert.equal(textOf(await opened.call("get")), "The service answered HTTP 500 Internal Server Error.\nOops\nBroken");
});

test("429 says how long to wait", async () => {
  answers(429, undefined, "", { "retry-after": "17" });
  assert.match(textOf(await opened.call("get")), /HTTP 429 Too Many Requests.*\nRetry-After: 17 seconds\./);
});

test("further pages are named and not fetched", async () => {
  answers(200, "application/json", '{"items":[],"next_page_token":"abc","paging":{"next":"/x?p=2"}}', {
    link: '</thing?page=2>; rel="next", </thing?page=9>; rel="last"',
  });
  const before = service.requests.length;
  const outcome = await opened.call("get");
  assert.match(
    JSON.stringify(resultOf(outcome)["content"]),
    /Link rel=next: \/thing\?page=2; next_page_token: abc; paging.next: \/x\?p=2/,
  );
  assert.equal(service.requests.length, before + 1);
});

test("a call that is cancelled ends at once, with the caller's reason", async () => {
  const abort = new AbortController();
  const reason = new Error("changed my mind");
  const gone = new Promise<void>((resolve) => {
    answer = (_request, response) => {
      response.on("close", resolve);
      abort.abort(reason);
    };
  });
  await assert.rejects(
    opened.session.callTool("get", {}, testCall({ signal: abort.signal })),
    (error) => error === reason,
  );
  await gone;
});

test("silence past its time is a timeout with an unknown outcome", async () => {
  answer = () => undefined;
  await assert.rejects(opened.session.callTool("get", {}, testCall({ timeoutMs: 50 })), (error) => {
    assert.ok(error instanceof UpstreamError);
    assert.equal(error.code, "upstream_timeout");
    assert.equal(error.processed, "unknown");
    return true;
  });
});

test("a service that cannot be reached is told as such", async () => {
  const closed = await startRecordingService();
  await closed.close();
  const other = await openDocument(documentOf({ "/": { get: { operationId: "get" } } }), { baseUrl: closed.url });
  await assert.rejects(
    other.call("get"),
    (error) => error instanceof UpstreamError && error.code === "upstream_unreachable",
  );
  assert.deepEqual((await other.session.check()).code, "upstream_unreachable");
});
