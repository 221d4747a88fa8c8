import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { createListener } from "../server/app/listener.ts";
import { connectV2 } from "./fixtures/clients.ts";
import { startProduct } from "./fixtures/product.ts";
import { rawCaller } from "./fixtures/raw.ts";

/** Long for a stop, short beside the minutes for which clients keep connections. */
const PATIENCE = { timeout: 60_000 };

/** A product with a tool that waits for a service that never answers. */
async function startWaiting(t: TestContext) {
  const arrived = Promise.withResolvers<void>();
  const service = createServer(() => arrived.resolve());
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    service.closeAllConnections();
    service.close();
  });
  const endpoints = [{ name: "wait", method: "GET", path: "/", description: "Waits." }];
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const slow = { type: "http", baseUrl, endpoints, access: { read: { tools: ["*"] } } };
  const product = await startProduct({ connections: { slow } });
  t.after(() => product[Symbol.asyncDispose]());
  return { product, arrived: arrived.promise };
}

test("a connection on which its client never sent anything does not hold a server that stops", PATIENCE, async () => {
  const product = await startProduct();
  const silent = connectTcp(Number(new URL(product.url).port), "127.0.0.1");
  await once(silent, "connect");
  const ended = once(silent, "close");
  await product[Symbol.asyncDispose]();
  await ended;
});

test("a call that its client gave up does not hold a server that stops", PATIENCE, async (t) => {
  const { product, arrived } = await startWaiting(t);
  const client = await connectV2(product.url, await product.token(), "modern");
  const abort = new AbortController();
  const given = assert.rejects(client.callTool({ name: "slow__wait" }, { signal: abort.signal }));
  await arrived;
  abort.abort();
  await given;
  await product.stop();
});

test("the answer to a request that was taken back ends, and its session goes on", PATIENCE, async (t) => {
  const { product, arrived } = await startWaiting(t);
  const ask = await rawCaller("legacy", product.url, await product.token());
  const waiting = ask("tools/call", { name: "slow__wait" });
  await arrived;
  await ask.notify("notifications/cancelled", { requestId: 1 });
  assert.deepEqual((await waiting).texts, [], "nothing is answered to it");
  assert.deepEqual((await ask("ping")).message.result, {});
});

test(
  "an answer under way is written to its end, and a request that never comes is not waited for",
  PATIENCE,
  async () => {
    const finish = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const listener = createListener({ host: "127.0.0.1", port: 0 }, async (request, response) => {
      if (request.method === "POST") return;
      response.write("first ");
      begun.resolve();
      await finish.promise;
      response.end("last");
    });
    const { port } = await listener.listen();
    const half = connectTcp(port, "127.0.0.1");
    half.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc");
    const answer = fetch(`http://127.0.0.1:${port}/`);
    await begun.promise;
    const stopped = listener.stop(1000);
    finish.resolve();
    assert.equal(await (await answer).text(), "first last");
    assert.equal(await text(half), "");
    await stopped;
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
  },
);
