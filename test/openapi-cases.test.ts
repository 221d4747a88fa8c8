/** The cases of documents that others stumbled over, through the dry run as somebody would run it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../adapters/contract.ts";

const CASES = join(import.meta.dirname, "fixtures", "openapi");
const MAIN = join(import.meta.dirname, "..", "server", "main.ts");

interface ArgMap {
  arg: string;
  in: string;
  name?: string;
}
interface Tool {
  name: string;
  description: string;
  inputSchema: JsonObject & { properties: JsonObject };
  outputSchema?: JsonObject;
  operation: { method: string; path: string };
  argMap: ArgMap[];
}
interface Built {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: { kind: string; value?: unknown; pairs?: string[][] };
}
interface Answer {
  id: number;
  ok: boolean;
  error?: string;
  tools?: Tool[];
  warnings?: string[];
  request?: Built;
}
interface Case {
  id: string;
  spec: JsonObject & { paths: JsonObject };
  specUrl?: string;
  expect: {
    tools: number;
    maxInputBytes?: number;
    forbidKeywords?: string[];
    forbidArgs?: string[];
    minWarnings?: number;
    stableWithout?: string;
  };
  calls?: {
    op: string;
    values: [string, string, unknown][];
    accept?: boolean;
    rawQueryOneOf?: string[];
    mustNotReach?: string;
    request?: {
      method: string;
      url: string;
      headers?: Record<string, string>;
      body?: { json?: unknown; form?: string[][] };
    };
  }[];
}

const dir = mkdtempSync(join(tmpdir(), "openapi-cases-"));
const child = spawn(process.execPath, [MAIN, "openapi", "dryrun"], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map<number, (answer: Answer) => void>();
let lastId = 0;

before(() => {
  createInterface({ input: child.stdout }).on("line", (line) => {
    const answer: Answer = JSON.parse(line);
    waiting.get(answer.id)?.(answer);
  });
});
after(async () => {
  const ended = new Promise((resolve) => child.on("exit", resolve));
  child.stdin.end();
  assert.equal(await ended, 0, "the dry run ends with its input");
  rmSync(dir, { recursive: true });
});

function ask(request: JsonObject): Promise<Answer> {
  lastId += 1;
  const id = lastId;
  child.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function load(name: string, spec: JsonObject, specUrl = "https://specs.example.test/apis/v9/openapi.json") {
  const file = join(dir, name);
  writeFileSync(file, JSON.stringify(spec));
  const answer = await ask({ op: "load", spec: file, specUrl, connection: "acme-crm" });
  assert.ok(answer.ok, answer.error);
  return { file, tools: answer.tools ?? [], warnings: answer.warnings ?? [] };
}

const operationOf = ({ operation }: Tool) => `${operation.method} ${operation.path}`;

/** Origin, path and query with all that is encoded undone, so that two spellings of one request are equal. */
function plainUrl(given: string): unknown {
  const { origin, pathname, search } = new URL(given);
  const pairs = search.slice(1).split("&").filter(Boolean).sort();
  const path = pathname.split("/").map((part) => encodeURIComponent(decodeURIComponent(part)));
  return [origin, path, pairs.map((pair) => decodeURIComponent(pair.replaceAll("+", " ")))];
}

function holdsKeyword(value: unknown, keyword: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, item]) => (key === keyword && typeof item !== "object") || holdsKeyword(item, keyword),
  );
}

describe("cases", () => {
  for (const file of readdirSync(CASES)
    .filter((name) => name.endsWith(".json"))
    .sort()) {
    const given: Case = JSON.parse(readFileSync(join(CASES, file), "utf8"));
    test(given.id, async () => {
      const { expect, calls = [] } = given;
      const loaded = await load(file, given.spec, given.specUrl);
      assert.equal(loaded.tools.length, expect.tools);
      assert.equal(new Set(loaded.tools.map(({ name }) => name)).size, expect.tools);
      assert.ok(loaded.warnings.length >= (expect.minWarnings ?? 0));
      for (const { name, inputSchema, outputSchema } of loaded.tools) {
        assert.match(name, /^acme-crm__[a-z0-9_-]{1,38}$/);
        new Ajv2020({ strict: false, validateFormats: false }).compile(inputSchema);
        assert.ok(JSON.stringify(inputSchema).length <= (expect.maxInputBytes ?? 16_384));
        for (const keyword of expect.forbidKeywords ?? []) assert.ok(!holdsKeyword(inputSchema, keyword), keyword);
        for (const arg of expect.forbidArgs ?? []) assert.ok(!(arg in inputSchema.properties), arg);
        for (const arg of Object.keys(inputSchema.properties)) assert.match(arg, /^[a-zA-Z0-9_.-]{1,64}$/);
        assert.ok(outputSchema === undefined || outputSchema["type"] === "object");
      }
      for (const call of calls) await check(loaded.file, loaded.tools, call);
      if (expect.stableWithout === undefined) return;
      const { [expect.stableWithout]: _gone, ...paths } = given.spec.paths;
      const later = await load(`later-${file}`, { ...given.spec, paths });
      for (const tool of later.tools) {
        const before = loaded.tools.find((other) => operationOf(other) === operationOf(tool));
        assert.equal(tool.name, before?.name);
      }
    });
  }
});

async function check(file: string, tools: Tool[], call: NonNullable<Case["calls"]>[number]): Promise<void> {
  const tool = tools.find((each) => operationOf(each) === call.op);
  assert.ok(tool, call.op);
  const args: JsonObject = {};
  for (const [place, name, value] of call.values) {
    const entry = tool.argMap.find((each) => each.in === place && (place === "body" || each.name === name));
    assert.ok(entry, `${place} ${name} is an argument`);
    args[entry.arg] = value;
  }
  if (call.accept !== undefined) {
    const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(tool.inputSchema);
    assert.equal(fits(args), call.accept, JSON.stringify(fits.errors));
  }
  const { request, rawQueryOneOf, mustNotReach } = call;
  if (!request && !rawQueryOneOf && !mustNotReach) return;
  const built = await ask({ op: "build", spec: file, tool: tool.name, arguments: args, skipValidation: true });
  if (mustNotReach) {
    assert.equal(built.ok, false);
    return;
  }
  assert.ok(built.request, built.error);
  if (rawQueryOneOf) assert.ok(rawQueryOneOf.includes(new URL(built.request.url).search.slice(1)), built.request.url);
  if (!request) return;
  assert.equal(built.request.method, request.method);
  assert.deepEqual(plainUrl(built.request.url), plainUrl(request.url));
  for (const [name, value] of Object.entries(request.headers ?? {})) assert.equal(built.request.headers[name], value);
  if (request.body?.json !== undefined)
    assert.deepEqual(built.request.body, { kind: "json", value: request.body.json });
  if (request.body?.form) assert.deepEqual(built.request.body, { kind: "form", pairs: request.body.form });
}

test("YAML is read as its author meant it: anchors, merge keys, and no surprises with on, 012 or dates", async () => {
  const spec = join(CASES, "c29-yaml-traps.yaml");
  const answer = await ask({ op: "load", spec, specUrl: "https://specs.example.test/a.yaml", connection: "acme-crm" });
  assert.ok(answer.ok, answer.error);
  const [tool] = answer.tools ?? [];
  assert.equal(tool?.name, "acme-crm__yes_list");
  assert.deepEqual(Object.keys(tool?.inputSchema.properties ?? {}).sort(), ["flag", "page", "since", "size"]);
  assert.deepEqual(tool?.inputSchema.properties["flag"], { type: "string", enum: ["on", "off", "012", "1_000"] });
});

test("what cannot be read is answered, and the next request too", async () => {
  const file = join(dir, "page.json");
  writeFileSync(file, "<!doctype html><title>Sign in</title>");
  const answer = await ask({ op: "load", spec: file, connection: "acme-crm" });
  assert.equal(answer.ok, false);
  assert.match(answer.error ?? "", /web page/);
  assert.equal((await ask({ op: "build", tool: "nothing" })).ok, false);
});
