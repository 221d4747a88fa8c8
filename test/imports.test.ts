import assert from "node:assert/strict";
import { test } from "node:test";
import { listFiles, parseSource, readSources, type SourceFile } from "./source/files.ts";
import {
  againstDirection,
  aroundEgress,
  impureAccess,
  outsideOwnRoom,
  undeclaredModelFields,
  vaguelyNamed,
} from "./source/rules.ts";

const ROOMS = ["server", "adapters", "sandbox", "migrations"];
const product = readSources(...ROOMS);

function files(sources: Record<string, string>): SourceFile[] {
  return Object.entries(sources).map(([path, text]) => parseSource(path, text));
}

/** The files and lines that a rule names. */
function places(found: readonly string[]): string[] {
  return found.map((line) => line.split(":", 2).join(":"));
}

test("the whole product was read", () => {
  assert.ok(product.some(({ path }) => path === "server/errors.ts"));
  assert.ok(product.some(({ path }) => path === "adapters/contract.ts"));
  assert.ok(product.flatMap(({ imports }) => imports).length > 100);
});

test("rooms import only in the direction of the design", () => {
  assert.deepEqual(againstDirection(product), []);
});

test("an import from a higher room is found with its line, also one for a type, a re-export and a dynamic one", () => {
  const found = againstDirection(
    files({
      "server/store/a.ts": '\nimport {\n  b,\n} from "../gateway/b.ts";',
      "server/errors.ts": 'import type { Store } from "./store/store.ts";',
      "server/people/c.ts": 'export * from "../mcp/c.ts";',
      "server/cli/d.ts": 'const app = await import("../app.ts");',
      "server/gateway/good.ts": 'import { decide } from "../access/decide.ts"; // import x from "../mcp/x.ts"',
      "server/unknown/e.ts": "export {};",
    }),
  );
  assert.deepEqual(places(found), [
    "server/store/a.ts:4",
    "server/errors.ts:1",
    "server/people/c.ts:1",
    "server/cli/d.ts:1",
    "server/unknown/e.ts:1",
  ]);
});

test("adapters, sandbox and migrations take nothing from the server but what is theirs to take", () => {
  assert.deepEqual(outsideOwnRoom(product), []);
});

test("an adapter that imports from the server is found, even for a type", () => {
  const found = outsideOwnRoom(
    files({
      "adapters/mcp/a.ts": 'import type { Config } from "../../server/config.ts";\nimport "../contract.ts";',
      "sandbox/worker.ts": 'import "./protocol.ts";\nimport "./pool.ts";',
      "migrations/0001-a.ts": 'import "../server/store/ddl.ts";\nimport "../server/errors.ts";',
    }),
  );
  assert.deepEqual(places(found), ["adapters/mcp/a.ts:1", "sandbox/worker.ts:2", "migrations/0001-a.ts:2"]);
});

test("access imports nothing but the errors", () => {
  assert.deepEqual(impureAccess(product), []);
});

test("an access file that imports Node, a package or a neighbour is found", () => {
  const text =
    'import "node:fs";\nimport { z } from "zod";\nimport type { A } from "../search/a.ts";\nimport "../errors.ts";';
  assert.deepEqual(places(impureAccess(files({ "server/access/a.ts": text }))), [
    "server/access/a.ts:1",
    "server/access/a.ts:2",
    "server/access/a.ts:3",
  ]);
});

test("only egress opens sockets, and the listener and the drivers that are named", () => {
  assert.deepEqual(aroundEgress(product), []);
});

test("a module or global that opens sockets is found outside of egress", () => {
  const found = aroundEgress(
    files({
      "server/mcp/a.ts": 'import { request } from "node:https";',
      "server/mcp/types.ts": 'import type { IncomingMessage } from "node:http";',
      "server/app/listener.ts": 'import { createServer } from "node:http";\nimport { connect } from "node:net";',
      "server/people/b.ts": "const url = 'fetch(x)';\nawait fetch(url);",
      "server/people/c.ts": "const own = globalThis.fetch;",
      "adapters/mcp/d.ts": "export function open({ fetch }: Context) { return fetch('x'); }",
      "adapters/mcp/e.ts": "export const a = { fetch(input: string) { return context.fetch(input); } };",
      "adapters/mcp/h.ts": "export const transport = new Transport(url, { fetch });",
      "adapters/mcp/i.ts": "const { fetch } = context;\nnew Transport(url, { fetch });\nthis.fetch(url);",
      "server/egress/f.ts": 'import "undici";',
    }),
  );
  assert.deepEqual(places(found), [
    "server/mcp/a.ts:1",
    "server/app/listener.ts:2",
    "server/people/b.ts:2",
    "server/people/c.ts:1",
    "adapters/mcp/h.ts:1",
  ]);
});

test("names of files and folders say what is in them", () => {
  assert.deepEqual(vaguelyNamed([...product.map(({ path }) => path), ...listFiles("test", ".ts")]), []);
  assert.equal(vaguelyNamed(["server/utils/a.ts", "server/mcp/helpers.ts", "server/mcp/common-names.ts"]).length, 2);
});

test("fields of models are declared, not defined", () => {
  assert.deepEqual(undeclaredModelFields(product), []);
});

test("a model field without declare is found", () => {
  const text = `class A extends Model<Attributes> {
  declare id: string;
  name!: string;
  static count = 0;
  get label() { const a = 1; return a; }
  size = 1;
}`;
  assert.deepEqual(places(undeclaredModelFields(files({ "server/store/models/a.ts": text }))), [
    "server/store/models/a.ts:3",
    "server/store/models/a.ts:6",
  ]);
});
