import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { startAuthShim } from "./auth-shim.ts";

/** A server with this handler, and a shim in front of it; both end with the test. */
async function shimInFrontOf(t: TestContext, handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const shim = await startAuthShim(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, "secret");
  t.after(async () => {
    await shim.close();
    server.closeAllConnections();
    server.close();
  });
  return shim;
}

test("the shim adds the token and leaves path, Host and other headers as they are", async (t) => {
  const shim = await shimInFrontOf(t, (incoming, outgoing) => {
    const { authorization, host, origin } = incoming.headers;
    outgoing.end(JSON.stringify({ authorization, host, origin, url: incoming.url }));
  });
  const sent = request(`${shim.url}/x?y=1`, { headers: { host: "evil.example", origin: "http://evil.example" } }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const body = JSON.parse(Buffer.concat(await answer.toArray()).toString());
  assert.deepEqual(body, {
    authorization: "Bearer secret",
    host: "evil.example",
    origin: "http://evil.example",
    url: "/mcp/x?y=1",
  });
});

test("a token that the caller brings itself is not replaced", async (t) => {
  const shim = await shimInFrontOf(t, (incoming, outgoing) => void outgoing.end(incoming.headers.authorization));
  const answer = await fetch(shim.url, { headers: { authorization: "Bearer own" } });
  assert.equal(await answer.text(), "Bearer own");
});

test("status, headers and the first event arrive while the answer is still open", async (t) => {
  let finish: (() => void) | undefined;
  const shim = await shimInFrontOf(t, (_incoming, outgoing) => {
    outgoing.writeHead(206, { "content-type": "text/event-stream", "mcp-session-id": "s" });
    outgoing.write("data: 1\n\n");
    finish = () => void outgoing.end("data: 2\n\n");
  });
  const answer = await fetch(shim.url, { method: "POST", body: "{}" });
  assert.equal(answer.status, 206);
  assert.equal(answer.headers.get("mcp-session-id"), "s");
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await reader.read()).value, "data: 1\n\n");
  finish!();
  assert.equal((await reader.read()).value, "data: 2\n\n");
  assert.equal((await reader.read()).done, true);
});

test("a body arrives while the caller is still sending it", async (t) => {
  const { promise: arrived, resolve } = Promise.withResolvers<string>();
  const shim = await shimInFrontOf(t, (incoming, outgoing) => {
    incoming.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    incoming.on("end", () => void outgoing.end());
  });
  const sent = request(shim.url, { method: "POST" });
  sent.write("first");
  assert.equal(await arrived, "first");
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
});

for (const moment of ["before the answer", "in the middle of a stream"]) {
  test(`a caller that hangs up ${moment} is seen to do so by the server`, async (t) => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const shim = await shimInFrontOf(t, (_incoming, outgoing) => {
      outgoing.on("close", () => resolve());
      if (moment !== "before the answer") outgoing.write("data: 1\n\n");
      reach();
    });
    const caller = new AbortController();
    const answer = fetch(shim.url, { signal: caller.signal });
    await reached;
    if (moment !== "before the answer") await (await answer).body!.getReader().read();
    caller.abort();
    await Promise.allSettled([answer]);
    await gone;
  });
}

test("a server that breaks off is answered with 502", async (t) => {
  const shim = await shimInFrontOf(t, (incoming) => void incoming.socket.destroy());
  assert.equal((await fetch(shim.url)).status, 502);
});
