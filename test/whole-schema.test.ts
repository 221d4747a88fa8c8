/** A schema that is too large for a model's context is cut, and the whole of it can still be read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../adapters/contract.ts";
import { connect } from "./fixtures/clients.ts";
import { documentOf } from "./fixtures/openapi-session.ts";
import { startProduct } from "./fixtures/product.ts";

/** 60 kinds of parts, each of which may hold others; together far beyond 16 KiB. */
const DOCUMENT = documentOf(
  {
    "/orders": {
      post: {
        operationId: "order",
        parameters: [{ name: "filter[a]", in: "query", schema: { type: "string" } }],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Part0" } } } },
      },
    },
    "/small": { post: { operationId: "small" } },
  },
  {
    servers: [{ url: "https://orders.example" }],
    components: {
      schemas: Object.fromEntries(
        Array.from({ length: 60 }, (_, at) => {
          const fields = Array.from({ length: 12 }, (_, field) => [
            `field_${at}_${field}`,
            { type: "string", maxLength: 100 + field, pattern: "^[a-z]+$" },
          ]);
          const more = Array.from({ length: 2 }, (_, each) => [
            `more${each}`,
            { $ref: `#/components/schemas/Part${(at * 2 + each + 1) % 60}` },
          ]);
          return [`Part${at}`, { type: "object", properties: Object.fromEntries([...fields, ...more]) }];
        }),
      ),
    },
  },
);

test("selecting a tool tells that its schema was cut, and with detail full the whole is given", async (t) => {
  const connection = { type: "openapi", spec: "./orders.json", access: "suggested" };
  await using product = await startProduct({
    connections: { shop: connection },
    files: { "connections/orders.json": JSON.stringify(DOCUMENT) },
  });
  const client = await connect("v1", product.url, await product.token());
  t.after(() => client.close());
  const search = async (more: object, query = "select:shop__order") => {
    const { content } = await client.callTool({ name: "tool_search", arguments: { query, ...more } });
    assert.ok(Array.isArray(content));
    return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  };
  const [answer = "", note = ""] = await search({});
  assert.ok(!answer.includes("field_59_11"));
  const [, again = ""] = /^The schema of shop__order was cut: .* All of it: tool_search (\{.*\})\.$/.exec(note) ?? [];
  const [, whole = ""] = await search(JSON.parse(again));
  assert.ok(Buffer.byteLength(whole) > 16 * 1024);
  const schema: JsonObject = JSON.parse(whole);
  assert.ok(whole.includes("field_59_11"));
  assert.deepEqual(Object.keys(Object(schema["properties"])), ["filter_a", "body"], "with the keys that are listed");
  assert.equal(
    (await search({ detail: "full" }, "select:shop__small")).length,
    1,
    "nothing is said where nothing was cut",
  );
});
