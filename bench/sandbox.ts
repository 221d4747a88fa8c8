/**
 * What running a piece in the sandbox costs, with the Slack piece from npm: a warm call against the same request made by
 * plain Node, a cold open against the fork it comes after, memory per warm isolate. Prints JSON; exits with 1 where a
 * bar is missed.
 *
 *   node bench/sandbox.ts [folder with node_modules/@activepieces/piece-slack]
 *
 * Without a folder the piece is fetched with npm into a temporary one.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import type { Bundle, SandboxLimits } from "../sandbox/contract.ts";
import { resolveLimits } from "../sandbox/limits.ts";
import { createPool } from "../sandbox/pool.ts";
import { Prepared } from "../sandbox/prepared.ts";
import { residentMb } from "../sandbox/watchdog.ts";
import { readConfig } from "../server/config.ts";
import { createEgress } from "../server/egress/fetch.ts";

const PIECE = "@activepieces/piece-slack@0.17.9";
const ROUNDS = 200;
const COLD_ROUNDS = 7;
const ISOLATES = 8;

const directory = mkdtempSync(join(tmpdir(), "bench-sandbox-"));
const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Bundles the piece to one file, as installing it does. */
async function bundleSlack(bundles: string, from: string | undefined): Promise<Bundle> {
  const folder = from ?? join(directory, "packages");
  if (from === undefined) {
    mkdirSync(folder);
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--prefix", folder];
    execFileSync("npm", ["install", ...options, PIECE], { stdio: ["ignore", "ignore", "inherit"] });
  }
  const { outputFiles } = await build({
    entryPoints: [join(folder, "node_modules", "@activepieces", "piece-slack", "src", "index.js")],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    target: "es2022",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "silent",
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  const hash = createHash("sha256").update(code).digest("hex");
  mkdirSync(join(bundles, hash), { recursive: true });
  writeFileSync(join(bundles, hash, "bundle.js"), code);
  return { piece: PIECE, hash };
}

/** A service that answers as Slack does. */
async function openSlack(): Promise<{ origin: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end('{"ok":true,"ts":"1.2","channel":"C1","message":{}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function measure(): Promise<boolean> {
  const slack = await openSlack();
  const { allowPrivateUpstreams } = readConfig({ JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback" });
  const egress = createEgress({ allow: allowPrivateUpstreams, closed: () => [] });
  let last: { url: string; init: RequestInit } = { url: slack.origin, init: {} };
  // Slack's own host stands on this machine.
  const toHere: typeof fetch = (input, init = {}) => {
    const { pathname, search } = new URL(String(input));
    last = { url: slack.origin + pathname + search, init };
    return egress.upstreamFetch(last.url, init);
  };
  const places = { bundleDirectory: join(directory, "bundles"), cacheDirectory: join(directory, "cache") };
  const open = (limits: Partial<SandboxLimits>) => createPool({ ...places, fetch: toHere, log: silent, limits });
  const bundle = await bundleSlack(places.bundleDirectory, process.argv[2]);
  const call = (connection: string) => ({
    bundle,
    key: { connection, credentialRevision: "1" },
    organization: "bench",
    action: "slack_post_message",
    auth: { type: "OAUTH2", access_token: "xoxb-bench-token", data: {}, props: {} },
    props: { channel: "C1", text: "hello", unfurlLinks: true },
  });

  const pool = open({ workers: 2, isolatesPerWorker: ISOLATES + 1 });
  const describeMs = await timed(() => pool.describe(bundle));
  for (let round = 0; round < 20; round++) await pool.run(call("warm"));
  const { url, init } = last;
  const { method = "GET", headers = {}, body = null } = init;
  const plain: number[] = [];
  const warm: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    plain.push(await timed(async () => (await fetch(url, { method, headers, body })).json()));
    warm.push(await timed(() => pool.run(call("warm"))));
  }
  const resident = (): number => Math.max(...pool.stats().processes.map((pid) => residentMb(pid) ?? 0));
  const before = resident();
  for (let index = 0; index < ISOLATES; index++) await pool.run(call(`memory ${index}`));
  const megabytesPerWarmIsolate = (resident() - before) / ISOLATES;
  await pool.close();

  const prepared = await Prepared.make(places, resolveLimits(), silent);
  const strict = open({ processPerCall: true, spareWorkers: 0, workers: 1 });
  await strict.run(call("cold"));
  const forks: number[] = [];
  const cold: number[] = [];
  for (let round = 0; round < COLD_ROUNDS; round++) {
    const child = prepared.start({ idle: nothing, ended: nothing });
    forks.push(await timed(() => child.ready));
    await child.kill("sandbox_closed", "measured");
    cold.push(await timed(() => strict.run(call("cold"))));
  }
  await strict.close();
  await egress.close();
  slack.close();

  const [warmMs, plainNodeMs, forkMs, coldMs] = [median(warm), median(plain), median(forks), median(cold)];
  const figures = {
    warmMs,
    plainNodeMs,
    warmRatio: warmMs / plainNodeMs,
    forkMs,
    coldMs,
    coldOverForkMs: coldMs - forkMs,
  };
  const bars = { warmRatioAtMost3: figures.warmRatio <= 3, coldOverForkAtMost120Ms: figures.coldOverForkMs <= 120 };
  const report = { piece: PIECE, ...figures, describeMs, megabytesPerWarmIsolate, bars };
  const rounded = (_key: string, value: unknown) => (typeof value === "number" ? Math.round(value * 100) / 100 : value);
  console.log(JSON.stringify(report, rounded, 2));
  return Object.values(bars).every(Boolean);
}

try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
