/**
 * A document of 20 MB with 10,000 operations is imported into a running server that answers calls meanwhile.
 *
 * Prints how long the reading took and its peak memory, how long until the tools are served, and the latency of calls
 * to another connection during the import, as a ratio to the same server's idle latency right before.
 *
 * node bench/large-openapi.ts [operations]
 */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { stringify } from "yaml";
import { readDocument } from "../adapters/openapi/reader.ts";
import { largeDocument } from "../test/fixtures/large-document.ts";
import { startProduct } from "../test/fixtures/product.ts";

const IDLE_MS = 5000;

const operations = Number(process.argv[2] ?? 10_000);
const document = largeDocument(operations);
const say = (text: string) => process.stdout.write(`${text}\n`);

/** Calls one after the other; every message of ours starts a new round and is answered with the times of the last. */
const CALLER = `
const { parentPort, workerData } = require("node:worker_threads");
let times = [];
parentPort.on("message", () => { parentPort.postMessage(times); times = []; });
const { url, token } = workerData;
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "small__get", arguments: {},
  _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" }, "io.modelcontextprotocol/clientCapabilities": {} } } });
const headers = { authorization: "Bearer " + token, "content-type": "application/json", accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "small__get" };
(async () => {
  for (;;) {
    const started = performance.now();
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    if (!text.includes('"isError":false') && (response.status !== 200 || text.includes('"error"') || text.includes('"isError":true'))) throw new Error(response.status + " " + text.slice(0, 300));
    times.push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
})();
`;

async function readAlone(): Promise<void> {
  const before = process.memoryUsage().rss;
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss - before);
  }, 20);
  const started = performance.now();
  const read = await readDocument({
    bytes: new Uint8Array(document.bytes),
    options: {
      variables: {},
      overrides: { read: [], write: [] },
      deprecated: "hide",
      names: [],
    },
  });
  clearInterval(watch);
  const ms = Math.round(performance.now() - started);
  say(
    `read: ${document.bytes.length} bytes, ${read.tools.length} tools in ${ms} ms, ${Math.round(peak / 1e6)} MB more`,
  );
}

const at = (times: number[], part: number) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;

async function importBesideCalls(): Promise<void> {
  const service = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"ok":true}');
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  const address = service.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  const endpoints = [{ name: "get", method: "GET", path: "/" }];
  const product = await startProduct({
    connections: { small: { type: "http", baseUrl, endpoints, access: "suggested" } },
  });
  const caller = new Worker(CALLER, { eval: true, workerData: { url: product.url, token: await product.token() } });
  const round = () =>
    new Promise<number[]>((resolve) => {
      caller.once("message", resolve);
      caller.postMessage("round");
    });
  await delay(2000);
  await round();
  await delay(IDLE_MS);
  const idle = await round();

  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const config = join(product.directory, "config", "connections");
  writeFileSync(join(config, "large.json"), document.bytes);
  const connection = { type: "openapi", spec: "./large.json", access: "suggested" };
  writeFileSync(join(config, "large.yml"), stringify({ version: 1, connection }));
  const started = performance.now();
  await product.app.reload();
  const served = () => product.app.registry.connections().find(({ slug }) => slug === "large")?.tools.length ?? 0;
  while (served() < operations) await delay(20);
  const ms = Math.round(performance.now() - started);
  await delay(1000);
  const during = await round();
  loop.disable();
  say(`import: served after ${ms} ms; longest time the main thread was away: ${Math.round(loop.max / 1e6)} ms`);
  for (const [name, part] of [
    ["p50", 0.5],
    ["p95", 0.95],
    ["p99", 0.99],
    ["max", 1],
  ] as const) {
    const [before, now] = [at(idle, part), at(during, part)];
    say(`${name}: idle ${before.toFixed(1)} ms, during ${now.toFixed(1)} ms, ratio ${(now / before).toFixed(2)}`);
  }
  say(`calls: ${idle.length} idle, ${during.length} during`);
  await caller.terminate();
  await product[Symbol.asyncDispose]();
  service.close();
}

await readAlone();
await importBesideCalls();
