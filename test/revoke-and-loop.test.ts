/** A token that another process revokes dies at once; a connection that leads back to us is seen for what it is. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { commandBeside } from "./fixtures/beside.ts";
import { connectV1, connectV2, textOf } from "./fixtures/clients.ts";
import { type Product, startProduct, writeConfig } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";
import { plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";

describe("a token revoked by the command line beside the running server", () => {
  it("is refused within a second in both eras, and no other token is", async () => {
    await using product = await startProduct();
    const revoked = await product.token({ name: "revoked" });
    const kept = await product.token({ name: "kept" });
    const session = await connectV1(product.url, revoked);
    const modern = await connectV2(product.url, revoked, "modern");
    const other = await connectV1(product.url, kept);
    for (const client of [session, modern, other]) await client.listTools();

    await commandBeside(product, "token", "revoke", "revoked");
    const ended = performance.now();
    let status: number;
    do ({ status } = await postModern(product.url, revoked, "tools/list"));
    while (status === 200 && performance.now() - ended < 1000);
    assert.equal(status, 401);
    for (const client of [session, modern]) await assert.rejects(client.listTools(), /not valid here/);
    assert.equal((await other.listTools()).tools.length, 4);
    await Promise.all([session.close(), modern.close(), other.close()]);
  });

  it("ends the streams it holds open, and no other's", async () => {
    await using product = await startProduct();
    const open = async (name: string) => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      const params = { notifications: { toolsListChanged: true }, _meta };
      const response = await fetch(product.url, {
        method: "POST",
        headers: {
          authorization: `Bearer ${await product.token({ name })}`,
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "subscriptions/listen",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }),
      });
      const reader = response.body?.getReader();
      assert.ok(reader);
      await reader.read();
      return reader;
    };
    const revoked = await open("revoked");
    const kept = await open("kept");
    await commandBeside(product, "token", "revoke", "revoked");
    const ended = revoked.read().then(
      ({ done }) => done,
      () => true,
    );
    assert.equal(await ended, true);
    const still = await Promise.race([kept.read().then(() => "ended"), Promise.resolve("open")]);
    assert.equal(still, "open");
    await kept.cancel();
  });
});

/** Waits until a connection has a load error and returns it. */
function loadError(product: Product, slug: string): Promise<{ code: string; message: string }> {
  const { registry } = product.app;
  const look = () =>
    registry.endpoint(undefined, undefined)?.environment.connections.find((one) => one.slug === slug)?.loadError;
  return new Promise((resolve) => {
    const check = () => {
      const error = look();
      if (error) {
        stop();
        resolve(error);
      }
    };
    const stop = registry.onChange(check);
    check();
  });
}

const to = (url: string, more: object = {}) => ({
  type: "mcp",
  label: "Loop",
  url,
  auth: { method: "none" },
  access: { read: { tools: ["*"] } },
  ...more,
});

/** What `tool_search` says of a connection. */
async function toldBySearch(product: Product): Promise<string> {
  const answer = await postModern(product.url, await product.token({ name: "asks" }), "tools/call", {
    name: "tool_search",
    arguments: {},
  });
  return textOf(answer.message.result);
}

describe("a connection to our own address", () => {
  it("is refused as a loop where it is added while we run, by whatever name of this machine", async () => {
    await using product = await startProduct();
    const { port } = new URL(product.url);
    writeConfig(join(product.directory, "config"), {
      connections: { self: to(product.url), named: to(`http://localhost:${port}/mcp/other`) },
    });
    await product.app.reload();
    for (const slug of ["self", "named"]) assert.equal((await loadError(product, slug)).code, "loop_detected");
    assert.match(await toldBySearch(product), /self: failed.*loop_detected/);
  });

  it("is refused as a loop at the start already", async () => {
    const first = await startProduct();
    await first.stop();
    const { port } = new URL(first.url);
    await using product = await startProduct({
      directory: first.directory,
      connections: { self: to(first.url) },
      env: { JACKFIELD_PORT: port },
    });
    assert.equal((await loadError(product, "self")).code, "loop_detected");
  });

  it("is refused as a loop behind a proxy, where only the request tells", async () => {
    await using product = await startProduct();
    const proxy = createServer((incoming, outgoing) => {
      const { method, headers, url } = incoming;
      const passed = forward(new URL(url ?? "/", product.url), { method: method ?? "GET", headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port }: AddressInfo = Object.assign({ port: 0, family: "", address: "" }, proxy.address());
    writeConfig(join(product.directory, "config"), {
      connections: { around: to(`http://127.0.0.1:${port}/mcp`) },
    });
    await product.app.reload();
    assert.equal((await loadError(product, "around")).code, "loop_detected");
    assert.match(await toldBySearch(product), /around: failed.*loop_detected/);
    proxy.closeAllConnections();
    proxy.close();
  });
});

it("a call that another server passes back to us ends as a loop, and no service acts", async () => {
  const upstream = await startPlainUpstream([plainTool("act")]);
  const bearer = (name: string) => ({ auth: { method: "bearer", secret: `\${env:${name}}` } });
  const first = await startProduct({ connections: { real: to(upstream.url) } });
  process.env["TEST_TOKEN_OF_A"] = await first.token({ name: "b" });
  await using b = await startProduct({ connections: { a: to(first.url, bearer("TEST_TOKEN_OF_A")) } });
  process.env["TEST_TOKEN_OF_B"] = await b.token({ name: "a" });
  await first.stop();
  const { port } = new URL(first.url);
  const a = await startProduct({
    directory: first.directory,
    connections: { b: to(b.url, bearer("TEST_TOKEN_OF_B")) },
    env: { JACKFIELD_PORT: port },
  });
  try {
    const token = await a.token({ name: "caller" });
    for (const client of [await connectV1(a.url, token), await connectV2(a.url, token, "modern")]) {
      const call = (name: string, args: object) => client.callTool({ name, arguments: { ...args } });
      // A -> B works, and so does B -> A; only the way back to where the call came from does not.
      assert.match(textOf(await call("b__tool_search", {})), /a: ok/);
      const round = await call("b__tool_read", {
        name: "a__tool_read",
        arguments: { name: "real__act", arguments: {} },
      });
      assert.equal(round.isError, true);
      assert.match(textOf(round), /came through this server already/);
      await client.close();
    }
    const direct = await connectV1(b.url, process.env["TEST_TOKEN_OF_B"]);
    const there = await direct.callTool({ name: "a__tool_read", arguments: { name: "real__act", arguments: {} } });
    assert.equal(textOf(there), "act");
    await direct.close();
    assert.equal(upstream.calls.length, 1);
  } finally {
    await a.stop();
    rmSync(a.directory, { recursive: true, force: true });
    await upstream.close();
  }
});
