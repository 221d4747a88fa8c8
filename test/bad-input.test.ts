/** What strangers send: exact status, code and header, and the server goes on. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Product, startProduct } from "./fixtures/product.ts";

const MODERN = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };

let product: Product;
let token: string;
before(async () => {
  product = await startProduct();
  token = await product.token();
});
after(() => product[Symbol.asyncDispose]());

function send(
  body: string | Buffer<ArrayBuffer> | undefined,
  headers: Record<string, string> = {},
  method = "POST",
  url = product.url,
) {
  return fetch(url, {
    method,
    headers: { ...ACCEPT, authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

const modern = (method: string, params: object = {}, headers: Record<string, string> = {}) =>
  send(JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: { ...params, _meta: META } }), {
    "mcp-protocol-version": MODERN,
    "mcp-method": method,
    ...headers,
  });

async function errorOf(response: Response): Promise<{ code: number; message: string }> {
  const { error } = (await response.json()) as { error: { code: number; message: string } };
  return error;
}

describe("tokens", () => {
  const wrong = {
    none: undefined,
    empty: "Bearer ",
    basic: "Basic YTpi",
    garbage: "Bearer nonsense",
    checksum: `Bearer jkf_agt_${"A".repeat(43)}_000000`,
  };
  for (const [name, authorization] of Object.entries(wrong)) {
    for (const method of ["POST", "GET"]) {
      it(`${method} with a token of the form "${name}" is answered 401 with a challenge`, async () => {
        const headers = { ...ACCEPT, ...(authorization === undefined ? {} : { authorization }) };
        const response = await fetch(product.url, { method, headers, ...(method === "POST" ? { body: "{}" } : {}) });
        assert.equal(response.status, 401);
        assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer realm="jackfield"/);
      });
    }
  }

  it("a token of another endpoint gets the answer of an endpoint that does not exist", async () => {
    const other = await fetch(`${product.url}/nowhere`, {
      method: "POST",
      headers: { ...ACCEPT, authorization: `Bearer ${token}` },
      body: "{}",
    });
    assert.equal(other.status, 404);
  });
});

describe("bodies", () => {
  const cases: [
    name: string,
    body: string | Buffer<ArrayBuffer>,
    headers: Record<string, string>,
    status: number,
    code: number,
  ][] = [
    ["malformed JSON", "{", {}, 400, -32700],
    ["an empty body", "", {}, 400, -32700],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), {}, 400, -32700],
    ["a JSON string", '"hello"', {}, 400, -32600],
    ["no JSON-RPC", "{}", {}, 400, -32600],
    [
      "deep nesting",
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(5000)}${"]".repeat(5000)}}`,
      {},
      400,
      -32600,
    ],
    ["a wrong content type", "{}", { "content-type": "text/plain" }, 415, -32600],
    ["a batch without a session", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', {}, 400, -32600],
  ];
  for (const [name, body, headers, status, code] of cases) {
    it(`${name} is answered ${status} / ${code}`, async () => {
      const response = await send(body, headers);
      assert.equal(response.status, status);
      assert.equal((await errorOf(response)).code, code);
    });
  }

  it("a body over 4 MiB is answered 413", async () => {
    const response = await send(
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { x: "a".repeat(4 * 1024 * 1024) } }),
    );
    assert.equal(response.status, 413);
  });

  it("brackets inside strings are not nesting", async () => {
    const response = await modern(
      "tools/call",
      { name: "tool_search", arguments: { query: "[".repeat(400) } },
      { "mcp-name": "tool_search" },
    );
    assert.equal(response.status, 200);
  });
});

describe("modern requests", () => {
  const rejected: [name: string, run: () => Promise<Response>, status: number, code: number][] = [
    ["a header that differs from the method", () => modern("tools/list", {}, { "mcp-method": "ping" }), 400, -32020],
    [
      "a name header that differs",
      () => modern("tools/call", { name: "tool_search", arguments: {} }, { "mcp-name": "other" }),
      400,
      -32020,
    ],
    ["a method that does not exist", () => modern("no/such"), 404, -32601],
    ["a removed method", () => modern("ping"), 404, -32601],
    ["a version that is not served", () => unknownVersion(), 400, -32022],
    [
      "an unknown tool",
      () => modern("tools/call", { name: "nope__nope", arguments: {} }, { "mcp-name": "nope__nope" }),
      200,
      -32602,
    ],
    ["a bad cursor", () => modern("tools/list", { cursor: "!!" }), 200, -32602],
    [
      "an unknown resource",
      () => modern("resources/read", { uri: "jackfield://x/y" }, { "mcp-name": "jackfield://x/y" }),
      200,
      -32602,
    ],
    ["an unknown prompt", () => modern("prompts/get", { name: "x__y" }, { "mcp-name": "x__y" }), 200, -32602],
  ];
  for (const [name, run, status, code] of rejected) {
    it(`${name} is answered ${status} / ${code}`, async () => {
      const response = await run();
      const error = await errorOf(response);
      assert.deepEqual([response.status, error.code], [status, code]);
    });
  }

  function unknownVersion() {
    const _meta = { ...META, "io.modelcontextprotocol/protocolVersion": "2031-01-01" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
    return send(body, { "mcp-protocol-version": "2031-01-01", "mcp-method": "tools/list" });
  }

  it("an empty cursor is the first page", async () => {
    const answer = (await (await modern("tools/list", { cursor: "" })).json()) as {
      result: { tools: { name: string }[] };
    };
    assert.deepEqual(
      answer.result.tools.map((tool) => tool.name),
      ["tool_search", "tool_read", "tool_write", "pair"],
    );
  });
});

describe("legacy requests", () => {
  it("a GET without a session is answered 405 and Allow, which clients take for a server without that stream", async () => {
    const response = await send(undefined, {}, "GET");
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
  });

  it("a POST with an unknown session is answered 404, so that the client initializes again", async () => {
    const response = await send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', { "mcp-session-id": "gone" });
    assert.equal(response.status, 404);
  });

  it("a session is not served to another token", async () => {
    const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }));
    const session = opened.headers.get("mcp-session-id") ?? "";
    await opened.text();
    assert.notEqual(session, "");
    const other = await product.token({ name: "other" });
    const headers = { "mcp-session-id": session, authorization: `Bearer ${other}` };
    const response = await send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}', headers);
    assert.equal(response.status, 404);
    const own = await send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}', { "mcp-session-id": session });
    assert.equal(own.status, 200);
    await own.text();
  });

  it("a batch is served to 2025-03-26 and refused to later revisions", async () => {
    for (const [version, status] of [
      ["2025-03-26", 200],
      ["2025-06-18", 400],
    ] as const) {
      const initialize = { protocolVersion: version, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      const opened = await send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }));
      const session = opened.headers.get("mcp-session-id") ?? "";
      await opened.text();
      const batch = '[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]';
      const response = await send(batch, { "mcp-session-id": session });
      assert.equal(response.status, status, version);
      await response.text();
    }
  });

  it("a deleted session is gone", async () => {
    const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }));
    const headers = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    await opened.text();
    assert.equal((await send(undefined, headers, "DELETE")).status, 200);
    assert.equal((await send('{"jsonrpc":"2.0","id":2,"method":"ping"}', headers)).status, 404);
  });
});

describe("who may call", () => {
  it("a foreign Origin is refused, none and our own are served", async () => {
    assert.equal((await send("{}", { origin: "https://evil.example" })).status, 403);
    assert.equal((await send("{}", { origin: "null" })).status, 403);
    assert.equal((await modern("tools/list", {}, { origin: new URL(product.url).origin })).status, 200);
  });

  it("other methods are answered 405 with what is served", async () => {
    const response = await send("{}", {}, "PUT");
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "GET, POST, DELETE");
  });

  it("a request that came through this server already is refused as a loop", async () => {
    const row = await product.app.store.models.settings.findByPk("instance_id");
    const response = await send("{}", { "jackfield-hop": `other, ${row?.value}` });
    assert.equal(response.status, 508);
  });
});

it("health and readiness are told", async () => {
  const origin = new URL(product.url).origin;
  assert.equal((await fetch(`${origin}/health`)).status, 200);
  assert.deepEqual(await (await fetch(`${origin}/ready`)).json(), { status: "ready", problems: [] });
  assert.equal((await fetch(`${origin}/nothing`)).status, 404);
});
