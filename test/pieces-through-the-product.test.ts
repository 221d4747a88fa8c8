import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stringify } from "yaml";
import { type AnyClient, connect } from "./fixtures/clients.ts";
import { installFixtures } from "./fixtures/piece-data.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A service of the pieces' authors' kind: lists, orders, and whatever the test lets it answer. */
async function startService(t: TestContext) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      asked.push({
        method: request.method ?? "",
        path,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      const failed = /\/orders\/(?:401|500)$/.exec(path);
      const status = failed
        ? Number(path.slice(-3))
        : path === "/me" && request.headers.authorization !== "Bearer good-token"
          ? 403
          : 200;
      const body = path === "/lists" ? [{ id: "l1", name: "Groceries" }] : { ok: true, path };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
  };
}

const OFFERS = ["oldest@1.0.0", "middle@1.0.0", "newest@1.0.0"];
const jackfield = (pieces: unknown[], more: object = {}) =>
  stringify({ version: 1, activepieces: { pieces, ...more } });

async function start(t: TestContext, connections: Record<string, object>, pieces: unknown[] = OFFERS) {
  const directory = await installFixtures(["oldest", "middle", "newest", "open"]);
  const product = await startProduct({ directory, connections, files: { "jackfield.yml": jackfield(pieces) } });
  t.after(() => product[Symbol.asyncDispose]());
  const client = await connect("v2-modern", product.url, await product.token());
  t.after(() => client.close());
  return { product, client };
}

async function call(client: AnyClient, name: string, args: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: args });
  const [first] = Array.isArray(result.content) ? result.content : [];
  const text = first && "text" in first ? String(first.text) : "";
  return {
    isError: result.isError === true,
    text,
    structured: result.structuredContent,
    content: result.content,
    meta: result._meta,
  };
}

const toolsOf = (product: Product, slug: string) =>
  product.app.registry
    .connections()
    .find((connection) => connection.slug === slug)
    ?.tools.map(({ action }) => action) ?? [];

const tokenFile = (name: string) => `\${env:${name}}`;

test("all three generations get their credential in their own form", async (t) => {
  process.env["PIECE_KEY"] = "key-of-the-oldest";
  process.env["PIECE_TOKEN"] = "good-token";
  const service = await startService(t);
  const { client, product } = await start(t, {
    old: {
      type: "ap",
      piece: "oldest",
      auth: { method: "bearer", secret: tokenFile("PIECE_KEY") },
      access: "suggested",
    },
    mid: {
      type: "ap",
      piece: "middle",
      version: "1.0.0",
      auth: {
        method: "fields",
        fields: { baseUrl: service.url, adminToken: tokenFile("PIECE_TOKEN"), region: "eu" },
      },
      access: { write: { tools: ["*_order"] } },
    },
    new: {
      type: "ap",
      piece: "newest",
      auth: { method: "bearer", secret: tokenFile("PIECE_TOKEN") },
      access: "suggested",
    },
  });

  const old = await call(client, "old__add_item", { base: service.url, list: "l1", count: "2" });
  assert.equal(old.isError, false, old.text);
  assert.equal(service.asked[0]?.headers["x-key"], "key-of-the-oldest");
  assert.equal(service.asked[0]?.body, '{"count":2}', "text that is a number is one");

  const mid = await call(client, "mid__get_order", { orderId: 7 });
  assert.deepEqual(mid.structured, { ok: true, path: "/eu/orders/7" });
  assert.equal(service.asked[1]?.headers.authorization, "Bearer good-token");

  assert.deepEqual((await call(client, "new__echo", { text: "hi" })).structured, { text: "hi", kind: "SECRET_TEXT" });
  assert.deepEqual(toolsOf(product, "old").sort(), ["add_item", "resolve_options"]);

  const failed = await call(client, "mid__get_order", { orderId: "500" });
  assert.equal(failed.isError, true);
  assert.match(failed.text, /HTTP 500/);
  assert.ok(!failed.text.includes("good-token"), failed.text);
  assert.deepEqual(failed.meta?.["jackfield/http"], { status: 500 });
});

test("audience and classification decide what is shown and what it is taken for", async (t) => {
  process.env["PIECE_TOKEN"] = "good-token";
  const auth = { method: "bearer", secret: tokenFile("PIECE_TOKEN") };
  const { product, client } = await start(
    t,
    {
      full: { type: "ap", piece: "newest", auth, access: "suggested" },
      named: {
        type: "ap",
        piece: "newest",
        auth,
        access: "suggested",
        expose: ["echo", "custom_api_call", "for_people"],
      },
      lite: { type: "ap", piece: "newest-lite", auth, access: "suggested" },
      forms: { type: "ap", piece: "newest", auth, access: { write: { tools: ["fill_form"] } } },
      reads: { type: "ap", piece: "newest", auth, access: { preset: "read-only", read: { tools: ["echo"] } } },
    },
    [
      ...OFFERS,
      { piece: "newest", version: "1.0.0", id: "newest-lite", label: "Lite", audience: ["ai"], scopes: ["notes:read"] },
    ],
  );
  const full = toolsOf(product, "full");
  assert.deepEqual(
    [...full].sort(),
    [
      "copy_file",
      "create_note",
      "delete_all",
      "echo",
      "fail",
      "fetch_url",
      "fill_form",
      "resolve_options",
      "unmarked",
      "wait",
    ],
    "no human action, no call of one's own making, none that needs a flow, none with an unknown argument",
  );
  const classOf = (action: string) =>
    product.app.registry
      .connections()
      .find(({ slug }) => slug === "full")
      ?.tools.find((tool) => tool.action === action);
  assert.equal(classOf("echo")?.class, "read");
  assert.equal(classOf("create_note")?.class, "write");
  assert.equal(classOf("unmarked")?.class, "write", "what says nothing writes");
  assert.equal(classOf("delete_all")?.definition.annotations?.["destructiveHint"], true);
  assert.deepEqual(toolsOf(product, "named").sort(), ["custom_api_call", "echo", "for_people"]);
  assert.deepEqual(toolsOf(product, "lite").sort(), ["copy_file", "echo", "fail", "fetch_url", "wait"]);
  assert.deepEqual(toolsOf(product, "reads"), ["echo"], "without choices there is nothing to look up");
  assert.deepEqual(toolsOf(product, "forms").sort(), ["fill_form", "resolve_options"]);
  // The same names and inputs, side by side.
  assert.equal((await call(client, "lite__echo", { text: "a" })).isError, false);
  assert.equal((await call(client, "full__echo", { text: "b" })).isError, false);
  // Choices of an action that does not exist at this connection do not exist either.
  const hidden = await call(client, "forms__resolve_options", { action: "create_note", prop: "color" });
  assert.match(hidden.text, /There is no action create_note/);
  const answer = await call(client, "forms__resolve_options", { action: "fill_form", prop: "form" });
  assert.match(answer.text, /Poll/);
});

test("arguments are filled in and read as the framework does; an unknown name is told with the nearest", async (t) => {
  process.env["PIECE_TOKEN"] = "good-token";
  const auth = { method: "bearer", secret: tokenFile("PIECE_TOKEN") };
  const { client } = await start(t, { new: { type: "ap", piece: "newest", auth, access: "suggested" } });
  const note = await call(client, "new__create_note", {
    title: 7,
    stars: "4",
    due: "2026-05-01",
    color: "r",
    tags: '["a","b"]',
    lines: [{ words: "x", number: "2" }],
    meta: '{"a":1}',
    extra: { b: 2 },
  });
  assert.deepEqual(note.structured, {
    title: "7",
    stars: 4,
    pinned: false,
    due: "2026-05-01T00:00:00.000Z",
    color: "r",
    tags: ["a", "b"],
    lines: [{ words: "x", number: 2 }],
    meta: { a: 1 },
    extra: { b: 2 },
  });
  assert.deepEqual((await call(client, "new__create_note", { title: "t" })).structured, {
    title: "t",
    stars: 3,
    pinned: false,
  });
  const unknown = await call(client, "new__create_note", { title: "t", starz: 1 });
  assert.match(unknown.text, /"starz" \(did you mean "stars"\?\)/);
  assert.match((await call(client, "new__create_note", { title: "t", color: "green" })).text, /allowed values/);
  assert.match((await call(client, "new__create_note", { title: "t", stars: "many" })).text, /must be number/);
});

test("choices are looked up, fields of a dynamic argument too", async (t) => {
  process.env["PIECE_KEY"] = "key-of-the-oldest";
  process.env["PIECE_TOKEN"] = "good-token";
  const service = await startService(t);
  const { client } = await start(t, {
    old: {
      type: "ap",
      piece: "oldest",
      auth: { method: "bearer", secret: tokenFile("PIECE_KEY") },
      access: "suggested",
    },
    new: {
      type: "ap",
      piece: "newest",
      auth: { method: "bearer", secret: tokenFile("PIECE_TOKEN") },
      access: "suggested",
    },
  });
  const lists = await call(client, "old__resolve_options", {
    action: "old__add_item",
    prop: "list",
    values: { base: service.url },
  });
  assert.deepEqual(lists.structured, { options: [{ label: "Groceries", value: "l1" }] });
  const forms = await call(client, "new__resolve_options", { action: "fill_form", prop: "form", search: "2026" });
  assert.match(forms.text, /Survey 2026/);
  const fields = await call(client, "new__resolve_options", {
    action: "fill_form",
    prop: "answers",
    values: { form: '{"id":1}' },
  });
  assert.match(fields.text, /"name":\{"description":"Name in 1","type":"string"\}/);
  const early = await call(client, "new__resolve_options", { action: "fill_form", prop: "answers" });
  assert.match(early.text, /depends on form/);
  assert.match(
    (await call(client, "new__resolve_options", { action: "fill_form", prop: "forms" })).text,
    /Did you mean form\?/,
  );
});

test("files go in by their bytes or by the handle of a kept one, and come out as handles", async (t) => {
  process.env["PIECE_TOKEN"] = "good-token";
  const auth = { method: "bearer", secret: tokenFile("PIECE_TOKEN") };
  const { client } = await start(t, { new: { type: "ap", piece: "newest", auth, access: "suggested" } });
  const file = { base64: Buffer.from("hello").toString("base64"), filename: "a.txt" };
  const first = await call(client, "new__copy_file", { file });
  const told = first.structured as { name: string; extension: string; bytes: number; copy: string };
  assert.deepEqual({ ...told, copy: "" }, { name: "a.txt", extension: "txt", bytes: 5, copy: "" });
  assert.match(told.copy, /^asset:\/\//);
  assert.ok(JSON.stringify(first.content).includes('"resource_link"'));
  const again = await call(client, "new__copy_file", { file: told.copy });
  assert.equal((again.structured as { name: string }).name, "copy-of-a.txt");
  assert.match((await call(client, "new__copy_file", { file: {} })).text, /exactly one of url, base64 and asset/);
  const inside = await call(client, "new__copy_file", { file: "https://127.0.0.1/a.txt" });
  assert.equal(inside.isError, true);
  assert.match(inside.text, /may not come from/);
});

test("what egress refused is said, whatever the piece made of it; other ends have their own words", async (t) => {
  process.env["PIECE_TOKEN"] = "good-token";
  const auth = { method: "bearer", secret: tokenFile("PIECE_TOKEN") };
  const { client } = await start(t, { new: { type: "ap", piece: "newest", auth, access: "suggested" } });
  const blocked = await call(client, "new__fetch_url", { url: "http://169.254.169.254/latest/meta-data" });
  assert.deepEqual(blocked.meta?.["jackfield/error"], { code: "blocked_address", connection: "new" });
  assert.ok(!blocked.text.includes("something went wrong"));
  const failed = await call(client, "new__fail");
  assert.match(failed.text, /HTTP 422.*\n.*it did not work/s);
});

test("a piece that is not offered has no tools until it is again; one without authentication needs no connection", async (t) => {
  process.env["PIECE_TOKEN"] = "good-token";
  const auth = { method: "bearer", secret: tokenFile("PIECE_TOKEN") };
  const { client, product } = await start(t, { new: { type: "ap", piece: "newest", auth, access: "suggested" } }, [
    ...OFFERS,
    "open@1.0.0",
  ]);
  assert.equal((await call(client, "open__time", {})).text, "now");
  const before = toolsOf(product, "new");
  assert.ok(before.length > 0);
  const offer = async (pieces: unknown[]) => {
    writeFileSync(join(product.directory, "config", "jackfield.yml"), jackfield(pieces));
    await product.app.reload();
  };
  await offer(["oldest@1.0.0"]);
  assert.deepEqual(toolsOf(product, "new"), []);
  assert.deepEqual(toolsOf(product, "open"), []);
  await assert.rejects(call(client, "new__echo", { text: "x" }), /new__echo/);
  await offer([...OFFERS, { piece: "open", version: "1.0.0", connect: false }]);
  assert.deepEqual(toolsOf(product, "new"), before);
  assert.equal((await call(client, "new__echo", { text: "x" })).isError, false);
  assert.deepEqual(toolsOf(product, "open"), [], "it is offered, but not by itself");
});
