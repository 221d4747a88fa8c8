/** Documents of every version and quality: what is made of them, what is left out, what ends with an error. */
import assert from "node:assert/strict";
import { truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type JsonObject, UpstreamError } from "../adapters/contract.ts";
import { objectOf } from "../adapters/http-request/json.ts";
import { openapiAdapter } from "../adapters/openapi/index.ts";
import { matches } from "../adapters/openapi/overrides.ts";
import { readDocument } from "../adapters/openapi/reader.ts";
import { testContext } from "./contract/adapter.ts";
import { temporaryDirectory } from "./fixtures/databases.ts";
import { largeDocument } from "./fixtures/large-document.ts";
import { documentOf, openDocument } from "./fixtures/openapi-session.ts";

const OPTIONS = {
  specUrl: "https://api.test/openapi.json",
  variables: {},
  overrides: { read: [], write: [] },
  deprecated: "hide" as const,
  names: [],
};

function read(document: JsonObject | string | Uint8Array, limits = {}, options = {}) {
  const bytes =
    document instanceof Uint8Array
      ? document
      : Buffer.from(typeof document === "string" ? document : JSON.stringify(document));
  return readDocument({ bytes: new Uint8Array(bytes), options: { ...OPTIONS, ...options } }, limits);
}

async function inputOf(schema: JsonObject, more: JsonObject = {}, version = "3.0.3") {
  const requestBody = { content: { "application/json": { schema } } };
  const document = documentOf({ "/a": { post: { operationId: "a", requestBody } } }, { ...more, openapi: version });
  const { tools, warnings } = await read(document);
  const input = objectOf(tools[0]?.inputSchema);
  new Ajv2020({ strict: false, validateFormats: false }).compile(input);
  return { input, body: objectOf(objectOf(input["properties"])["body"]), warnings };
}

test("a fault costs only the operation it is in", async () => {
  const { tools, skipped } = await read(
    documentOf({
      "/good": { get: { operationId: "good" } },
      "/odd": { get: { operationId: "odd", parameters: "none", responses: 7, requestBody: [], tags: {} } },
      "/trace": { trace: { operationId: "trace" } },
      "/old": { get: { operationId: "old", deprecated: true } },
      "/null": null,
      "x-more": { get: {} },
    }),
  );
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["good", "odd"],
  );
  assert.deepEqual(
    skipped.map(({ path }) => path),
    ["/trace", "/old"],
  );
});

test("versions that are written carelessly are taken, and others refused by name", async () => {
  for (const openapi of ["3.0", "3.1.2", 3.1, "3.2.0"]) {
    const { tools } = await read(documentOf({ "/a": { get: {} } }, { openapi }));
    assert.equal(tools[0]?.name, "get_a", String(openapi));
  }
  const refused: [JsonObject | string, RegExp][] = [
    [{ openapi: "4.0" }, /OpenAPI 4.0 is not supported/],
    [{ swaggerVersion: "1.2" }, /Swagger 1.x/],
    [{ asyncapi: "2.0.0" }, /AsyncAPI/],
    [{ hello: 1 }, /neither openapi nor swagger/],
    ["[1]", /not an object/],
    ["a: [b", /neither JSON nor YAML/],
  ];
  for (const [document, message] of refused) {
    await assert.rejects(read(document), (error) => error instanceof UpstreamError && message.test(error.message));
  }
});

test("lines of quoted texts and lists that stand too far to the left are read as their author meant them", async () => {
  const { tools, warnings, skipped } = await read(`openapi: 3.0.0
paths:
    /a:
        post:
            operationId: a
            description: "The first line
          and the second.

          After a gap."
            parameters:
                - { name: b, in: query, schema: { type: string, enum: [
          one,
          two
        ] } }
    /c:
        get: { operationId: c }
`);
  assert.deepEqual(skipped, []);
  assert.deepEqual(
    tools.map(({ name, description }) => [name, description]),
    [
      ["a", "The first line and the second.\nAfter a gap."],
      ["c", "GET /c"],
    ],
  );
  assert.deepEqual(objectOf(objectOf(tools[0]?.inputSchema["properties"])["b"])["enum"], ["one", "two"]);
  assert.match(warnings.join(), /lines of the YAML stand too far to the left/);
});

test("of 3.2 there are QUERY, additional methods and a whole query as one argument", async () => {
  const q = {
    name: "q",
    in: "querystring",
    content: { "application/x-www-form-urlencoded": { schema: { type: "object" } } },
  };
  const pathItem = {
    query: { operationId: "search", parameters: [q] },
    additionalOperations: { COPY: { operationId: "copy" } },
  };
  const { tools, operations } = await read(documentOf({ "/a": pathItem }, { openapi: "3.2.0" }));
  assert.deepEqual(
    operations.map(({ method }) => method),
    ["QUERY", "COPY"],
  );
  assert.deepEqual(
    tools.map(({ annotations }) => annotations?.["readOnlyHint"]),
    [true, false],
  );
});

test("schemas of older drafts become 2020-12", async () => {
  const { body } = await inputOf({
    type: "object",
    properties: {
      bound: { type: "number", minimum: 1, exclusiveMinimum: true, maximum: "9" },
      twice: { type: "string", enum: ["a", "a", null], required: true },
      bad: { type: "string", pattern: "(?<=[", minLength: 1.5 },
      kind: { type: "int" },
      list: { type: "array" },
      none: { oneOf: [], allOf: [] },
      either: { oneOf: [{ type: "integer" }, { type: "number" }] },
    },
    required: ["bound", "bound"],
  });
  assert.deepEqual(body["properties"], {
    bound: { type: "number", exclusiveMinimum: 1, maximum: 9 },
    twice: { type: "string", enum: ["a", null] },
    bad: { type: "string" },
    kind: { type: "integer" },
    list: { type: "array", items: {} },
    none: {},
    either: { anyOf: [{ type: "integer" }, { type: "number" }] },
  });
  assert.deepEqual(body["required"], ["bound"]);
});

test("what is read only is no part of an input, wherever in a composition it stands", async () => {
  const { body } = await inputOf(
    {
      allOf: [
        { $ref: "#/components/schemas/Base" },
        { type: "object", required: ["id", "name"], properties: { name: { type: "string" } } },
      ],
    },
    {
      components: {
        schemas: {
          Base: {
            type: "object",
            properties: { id: { type: "string", readOnly: true }, at: { $ref: "#/components/schemas/At" } },
          },
          At: { type: "string", readOnly: true },
        },
      },
    },
  );
  const text = JSON.stringify(body);
  assert.doesNotMatch(text, /"id"|"at"/);
  assert.match(text, /"required":\["name"\]/);
});

test("one part of a composition that allows no more does not refuse the others", async () => {
  const closed = { type: "object", additionalProperties: false, properties: { a: { type: "string" } } };
  const { input } = await inputOf(
    { allOf: [{ $ref: "#/components/schemas/Closed" }, { type: "object", properties: { b: { type: "string" } } }] },
    { components: { schemas: { Closed: closed } } },
  );
  const fits = new Ajv2020({ strict: false }).compile(input);
  assert.ok(fits({ body: { a: "1", b: "2" } }));
});

test("a reference that leads nowhere, outside or in a circle accepts anything, with a warning", async () => {
  const circle = {
    components: { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } },
  };
  const { body, warnings } = await inputOf(
    { properties: { a: { $ref: "#/components/schemas/A" }, b: { $ref: "#/nowhere" }, c: { $ref: "other.json#/x" } } },
    circle,
  );
  assert.deepEqual(body["properties"], { a: {}, b: {}, c: {} });
  assert.equal(warnings.length, 3);
});

test("inputs stay within 16 KiB however large their schemas are, and still accept the whole", async () => {
  const long = "What this means, in very many words. ".repeat(20);
  const leaf = {
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`field${i}`, { type: "string", description: long }]),
    ),
  };
  const schemas: JsonObject = { Leaf: leaf };
  for (let level = 0; level < 6; level += 1) {
    const next = level === 0 ? "Leaf" : `Level${level - 1}`;
    schemas[`Level${level}`] = {
      type: "object",
      required: ["must"],
      additionalProperties: false,
      properties: {
        must: { type: "integer" },
        ...Object.fromEntries(
          Array.from({ length: 20 }, (_, i) => [`p${i}`, { $ref: `#/components/schemas/${next}` }]),
        ),
      },
    };
  }
  const { input } = await inputOf({ $ref: "#/components/schemas/Level5" }, { components: { schemas } });
  assert.ok(Buffer.byteLength(JSON.stringify(input)) <= 16_384);
  const fits = new Ajv2020({ strict: false }).compile(input);
  assert.ok(fits({ body: { must: 1, p19: { must: 1, p3: { must: 2 } } } }), JSON.stringify(fits.errors));
  assert.ok(!fits({ body: {} }), "what is required still is");
});

test("classes come from the method, and from the administrator's patterns before that", async () => {
  const document = documentOf({
    "/search": { post: { operationId: "searchThings" } },
    "/run": { get: { operationId: "runNow" } },
    "/a": { delete: { operationId: "deleteA" }, get: { operationId: "getA" } },
  });
  const overrides = { read: ["search*", "run*"], write: ["run?ow"] };
  const { tools } = await read(document, {}, { overrides });
  const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations?.["readOnlyHint"]]));
  assert.deepEqual(hints, { searchThings: true, runNow: false, deleteA: false, getA: true });
  assert.equal(tools.find(({ name }) => name === "deleteA")?.annotations?.["destructiveHint"], true);
});

test("patterns match whole names", () => {
  const yes = [
    ["get*", "getA"],
    ["{get,list}_?", "list_a"],
    ["a\\*", "a*"],
    ["*a*b*", "xxaxxbxx"],
    ["{a,b}{c,d}", "bd"],
  ] as const;
  const no = [
    ["get", "getA"],
    ["{get,list}", "set"],
    ["a\\*", "ab"],
    ["*a*b*", "xxbxxa"],
    ["", "a"],
  ] as const;
  for (const [pattern, name] of yes) assert.ok(matches(pattern, name), `${pattern} ${name}`);
  for (const [pattern, name] of no) assert.ok(!matches(pattern, name), `${pattern} ${name}`);
});

test("an operation keeps its name over refreshes, whatever its operationId becomes", async () => {
  const paths = { "/a": { get: { operationId: "first" } }, "/b": { get: { operationId: "second" } } };
  const { context, session, call } = await openDocument(documentOf(paths), { baseUrl: "http://127.0.0.1:9" });
  const renamed = { ...paths, "/a": { get: { operationId: "renamed" } }, "/c": { get: { operationId: "first" } } };
  const again = await openDocument(documentOf(renamed), { baseUrl: "http://127.0.0.1:9" }, { memory: context.memory });
  const names = again.tools.map(({ name }) => name);
  assert.equal(names[0], "first");
  assert.equal(names[1], "second");
  assert.match(names[2] ?? "", /^first_[a-z0-9]{6}$/);
  assert.equal(typeof call, "function");
  await session.close();
});

test("ten thousand operations are read in the worker while this thread goes on", async () => {
  const { bytes, operations } = largeDocument(10_000);
  assert.ok(bytes.length > 15_000_000);
  let turns = 0;
  let longest = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    turns += 1;
    longest = Math.max(longest, performance.now() - before);
    before = performance.now();
  }, 5);
  const { tools, skipped } = await read(bytes);
  clearInterval(timer);
  assert.equal(tools.length + skipped.length, operations);
  assert.equal(skipped.length, 0);
  assert.ok(turns > 50, `${turns} turns of the event loop, the longest ${longest} ms`);
});

test("bombs end with a clear error, and the next document is read", async () => {
  const bombs: [string, string | Uint8Array, RegExp, object?][] = [
    ["a document of 65 MiB", Buffer.alloc(65 * 1024 * 1024, 32), /larger than 64 MiB/],
    ["nesting in YAML", `openapi: 3.0.0\npaths: ${"[".repeat(5000)}`, /neither JSON nor YAML/],
    ["time", largeDocument(3000).bytes, /not read within 20 ms/, { maxMs: 20 }],
    ["memory", largeDocument(8000).bytes, /needs more memory/, { maxHeap: 24 }],
  ];
  for (const [what, document, message, limits] of bombs) {
    await assert.rejects(read(document, limits), (error) => {
      assert.ok(error instanceof UpstreamError, what);
      assert.match(error.message, message, what);
      return true;
    });
  }
  assert.equal((await read(documentOf({ "/a": { get: {} } }))).tools.length, 1);
});

test("a file of 100 MB and an address that never ends are refused before they are in memory", async (t) => {
  const path = join(temporaryDirectory(t), "bomb.json");
  const start = '{"openapi":"3.0.0","info":{"description":"';
  writeFileSync(path, start);
  truncateSync(path, 100 * 1024 * 1024);
  const refused = (error: unknown) => {
    assert.ok(error instanceof UpstreamError);
    assert.match(error.message, /larger than 64 MiB/);
    return true;
  };
  await assert.rejects(openapiAdapter.open(testContext({ specFile: path })), refused);
  const chunk = "x".repeat(1024 * 1024);
  const endless = createServer((_request, response) => {
    response.write(start);
    const more = () => {
      while (response.write(chunk));
      response.once("drain", more);
    };
    more();
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  const address = endless.address();
  const spec = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/api.json`;
  t.after(() => endless.close());
  await assert.rejects(openapiAdapter.open(testContext({ spec })), refused);
  endless.closeAllConnections();
  assert.equal((await read(documentOf({ "/a": { get: {} } }))).tools.length, 1);
});

test("anchors that multiply, and JSON nested without end, are cut and cost one operation at most", async () => {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const inner =
      level === 0
        ? "{type: string}"
        : `{properties: {${Array.from({ length: 10 }, (_, i) => `p${i}: *a${level - 1}`).join(", ")}}}`;
    return `x-a${level}: &a${level} ${inner}`;
  });
  const operation = (name: string, schema: string) =>
    `  /${name}: {post: {operationId: ${name}, requestBody: {content: {application/json: {schema: ${schema}}}}}}`;
  const yaml = [
    "openapi: 3.0.0",
    ...levels,
    "paths:",
    operation("bomb", "*a11"),
    operation("good", "{type: object}"),
  ].join("\n");
  const { tools, warnings } = await read(yaml);
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["bomb", "good"],
  );
  assert.ok(Buffer.byteLength(JSON.stringify(tools[0]?.inputSchema)) <= 16_384);
  assert.match(warnings.join(), /repeated too often/);
  const deep = `{"openapi":"3.1.0","paths":{"/a":{"post":{"requestBody":{"content":{"application/json":{"schema":${'{"items":'.repeat(20_000)}{}${"}".repeat(20_000)}}}}}}}}`;
  assert.equal((await read(deep)).tools.length, 1);
});
