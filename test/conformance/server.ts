/**
 * Runs the official conformance suites against the server (`npm run conformance:server`).
 *
 * Starts the conformance upstream, the server with one transparent connection to it, and a shim that adds the token;
 * then runs every suite of suites.ts. The last line is `N passed, N failed`, in scenarios; the exit code is 1 where
 * one failed.
 *
 *   --direct               run against the upstream itself
 *   --url URL [--token T]  run against a server that is running already
 *   --upstream ERAS        both (default), modern or legacy: what the upstream speaks
 *   --suite LABEL          only this suite; may be repeated
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startAuthShim } from "./auth-shim.ts";
import { startProduct } from "./product.ts";
import { runSuite, SUITES } from "./suites.ts";
import { isEras, startConformanceUpstream } from "./upstream.ts";

/** The whole run may take this long; then everything it started is ended. */
const RUN_LIMIT_MS = 15 * 60_000;

const { values: options } = parseArgs({
  options: {
    direct: { type: "boolean", default: false },
    url: { type: "string" },
    token: { type: "string" },
    upstream: { type: "string", default: "both" },
    suite: { type: "string", multiple: true },
  },
});

const abort = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => abort.abort(new Error(`Ended by ${name}`)));
// A reader that went away (`| head`) must not leave the server running.
process.stdout.on("error", (error) => abort.abort(error));
const limit = setTimeout(() => abort.abort(new Error("The run took too long")), RUN_LIMIT_MS);

const logDir = await mkdtemp(join(tmpdir(), "jackfield-conformance-"));
const place = { logDir, signal: abort.signal };
/** What to close at the end, last started first. */
const started: (() => Promise<void>)[] = [];
let passed = 0;
let failed = 0;

try {
  const url = await openTarget();
  for (const suite of SUITES) {
    if (options.suite !== undefined && !options.suite.includes(suite.label)) continue;
    const outcome = await runSuite(suite, url, place);
    say(outcome.line);
    for (const failure of outcome.failures) say(`  failed: ${failure}`);
    if (outcome.uncounted.length > 0) say(`  not scored and failing: ${outcome.uncounted.join(", ")}`);
    passed += outcome.passed;
    failed += outcome.failed;
    abort.signal.throwIfAborted();
  }
  if (passed + failed === 0) throw new Error("No suite has this label");
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  failed += 1;
} finally {
  clearTimeout(limit);
  for (const close of started.reverse()) await close();
}

if (failed === 0) await rm(logDir, { recursive: true, force: true });
else say(`Output of the suites and of the server: ${logDir}`);
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Starts what the options ask for; answers with the URL to run the suites against. */
async function openTarget(): Promise<string> {
  if (options.url !== undefined) {
    return options.token === undefined ? options.url : await openShim(options.url, options.token);
  }
  if (!isEras(options.upstream)) throw new Error("--upstream is both, modern or legacy");
  const upstream = await startConformanceUpstream({ eras: options.upstream });
  started.push(() => upstream.close());
  if (options.direct) return upstream.url;
  const product = await startProduct(upstream.url, logDir, abort.signal);
  started.push(() => product.stop());
  return await openShim(product.url, product.token);
}

async function openShim(target: string, token: string): Promise<string> {
  const shim = await startAuthShim(target, token);
  started.push(() => shim.close());
  return shim.url;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
