import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../adapters/contract.ts";
import { portableSchema, restoreArguments } from "../server/gateway/portable-schema.ts";

const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Whether the listed schema takes these arguments. */
function accepts(schema: JsonObject, args: JsonObject): boolean {
  return new Ajv2020({ strict: false }).validate(schema, args);
}

function keysOf(schema: JsonObject): string[] {
  const { properties } = schema;
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

test("an ordinary schema is listed as it is", () => {
  const schema = {
    type: "object",
    properties: { to: { type: "string" }, "x.y-z": { $ref: "#/$defs/a" } },
    required: ["to"],
    additionalProperties: false,
    $defs: { a: { type: "number" } },
  };
  const portable = portableSchema(schema);
  assert.deepEqual(portable.schema, schema);
  assert.equal(portable.restore.size, 0);
});

test("keys that model APIs refuse are renamed, and renamed back on the call", () => {
  const long = "k".repeat(70);
  const schema = {
    type: "object",
    properties: { "filter[status]": { type: "string" }, $top: { type: "integer" }, [long]: {}, "": {}, 名: {} },
    required: ["filter[status]", long],
  };
  const { schema: listed, restore } = portableSchema(schema);
  for (const key of keysOf(listed)) assert.match(key, KEY);
  assert.equal(new Set(keysOf(listed)).size, 5);
  assert.deepEqual(restoreArguments({ filter_status: "open", top: 5 }, restore), { "filter[status]": "open", $top: 5 });
  for (const [key, original] of restore) assert.deepEqual(restoreArguments({ [key]: 1 }, restore), { [original]: 1 });
  assert.deepEqual(listed["required"], ["filter_status", [...restore].find(([, original]) => original === long)?.[0]]);
});

test("a renamed key never takes the place of one that is there", () => {
  const schema = { type: "object", properties: { top: { type: "string" }, $top: { type: "number" }, "top!": {} } };
  const { schema: listed, restore } = portableSchema(schema);
  assert.equal(keysOf(listed).length, 3);
  assert.ok(!restore.has("top"));
  assert.deepEqual(new Set(restore.values()), new Set(["$top", "top!"]));
  assert.deepEqual(portableSchema(schema), { schema: listed, restore });
});

test("arguments under the upstream's own keys pass, and the listed key counts where both are given", () => {
  const { restore } = portableSchema({ type: "object", properties: { $top: {} } });
  assert.deepEqual(restoreArguments({ $top: 3, other: 1 }, restore), { $top: 3, other: 1 });
  assert.deepEqual(restoreArguments({ $top: 3, top: 4 }, restore), { $top: 4 });
});

test("a key named __proto__ is an ordinary key", () => {
  const schema: JsonObject = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"$a":{}}}');
  const { schema: listed, restore } = portableSchema(schema);
  assert.deepEqual(keysOf(listed), ["__proto__", "a"]);
  const args: JsonObject = JSON.parse('{"__proto__":"x","a":1}');
  assert.deepEqual(
    Object.entries(restoreArguments(args, restore)),
    Object.entries(JSON.parse('{"__proto__":"x","$a":1}')),
  );
});

test("a union at the top becomes one object that takes every alternative", () => {
  for (const keyword of ["anyOf", "oneOf"]) {
    const { schema } = portableSchema({
      type: "object",
      description: "Finds an issue.",
      properties: { verbose: { type: "boolean" } },
      [keyword]: [
        { properties: { id: { type: "integer" } }, required: ["id"] },
        { properties: { query: { type: "string" }, id: { type: "string" } }, required: ["query"] },
      ],
    });
    assert.deepEqual(
      Object.keys(schema).filter((key) => /Of$/.test(key)),
      [],
    );
    assert.deepEqual(new Set(keysOf(schema)), new Set(["verbose", "id", "query"]));
    assert.equal(schema["required"], undefined);
    for (const args of [{ id: 1 }, { query: "x" }, { query: "x", id: "7" }]) assert.ok(accepts(schema, args));
    assert.match(
      String(schema["description"]),
      /^Finds an issue\.\nGive .* of these sets of arguments: \(id\) or \(query\)\.$/,
    );
  }
});

test("what every alternative requires stays required, and a discriminator lists its values", () => {
  const { schema } = portableSchema({
    oneOf: [
      { type: "object", properties: { kind: { const: "file" }, path: { type: "string" } }, required: ["kind", "path"] },
      { type: "object", properties: { kind: { const: "url" }, url: { type: "string" } }, required: ["kind", "url"] },
    ],
  });
  assert.equal(schema["type"], "object");
  assert.deepEqual(schema["required"], ["kind"]);
  assert.deepEqual(Object(schema["properties"])["kind"], { type: "string", enum: ["file", "url"] });
});

test("allOf and a reference at the top are merged, with everything they require", () => {
  const { schema } = portableSchema({
    $defs: { base: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    allOf: [
      { $ref: "#/$defs/base" },
      { properties: { b: { $ref: "#/$defs/c" }, a: { minLength: 2 } }, required: ["b"] },
    ],
  });
  assert.deepEqual(schema["required"], ["a", "b"]);
  assert.deepEqual(keysOf(schema), ["a", "b"]);
  const referring = portableSchema({ $ref: "#/definitions/args", definitions: { args: { properties: { x: {} } } } });
  assert.deepEqual(keysOf(referring.schema), ["x"]);
  assert.equal(referring.schema["$ref"], undefined);
});

test("references to what was moved still lead to the same thing", () => {
  const { schema } = portableSchema({
    type: "object",
    properties: { $first: { type: "integer" }, second: { $ref: "#/properties/$first" }, tree: { $ref: "#" } },
  });
  assert.ok(accepts(schema, { first: 1, second: 2, tree: { $first: 3 } }));
  assert.ok(!accepts(schema, { second: "two" }));
  assert.ok(!accepts(schema, { tree: { $first: "three" } }));
});

test("a schema that leads back to itself, or branches without end, is merged all the same", () => {
  const around = { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { properties: { x: {} } }] } } };
  assert.deepEqual(keysOf(portableSchema(around).schema), ["x"]);
  const many = Array.from({ length: 100 }, () => ({ $ref: "#" }));
  assert.equal(portableSchema({ anyOf: many }).schema["type"], "object");
});

test("a schema without type, or with a required key that it does not declare, becomes a full object schema", () => {
  assert.deepEqual(portableSchema({}).schema, { type: "object", properties: {} });
  const { schema } = portableSchema({ type: ["object", "null"], properties: { a: true }, required: ["a", "b", "a"] });
  assert.deepEqual(schema, { type: "object", properties: { a: {}, b: {} }, required: ["a", "b"] });
});
