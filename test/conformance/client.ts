/**
 * Runs the official conformance suites for clients through the whole product (`npm run conformance:client`).
 *
 * The suites play MCP servers and authorization servers that are right or wrong in every way of the specification, and
 * start driver.ts once for each scenario. It hands the scenario to this process, which plays it with a server of its
 * own (scenario.ts). The last line is `N passed, N failed`, in scenarios; the exit code is 1 where one failed.
 *
 *   --scenario NAME  only this one
 *   --version DATE   the revision of the protocol to test it at
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CLIENT_SUITES, runClientSuite, single } from "./client-suites.ts";
import { type Play, play, ScenarioRequest } from "./scenario.ts";

/** The whole run may take this long; then everything it started is ended. */
const RUN_LIMIT_MS = 200_000;
/** Scenarios played at the same time; the suites start all of theirs at once. */
const AT_ONCE = 3;

const { values: options } = parseArgs({ options: { scenario: { type: "string" }, version: { type: "string" } } });
const suites = options.scenario === undefined ? CLIENT_SUITES : [single(options.scenario, options.version)];

const abort = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => abort.abort(new Error(`Ended by ${name}`)));
process.stdout.on("error", (error) => abort.abort(error));
const limit = setTimeout(() => abort.abort(new Error("The run took too long")), RUN_LIMIT_MS);

const logDir = await mkdtemp(join(tmpdir(), "jackfield-conformance-"));
const plays = new Map<string, Play>();
let passed = 0;
let failed = 0;

/** Lets so many work at once and the others wait. */
let busy = 0;
const waiting: (() => void)[] = [];
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  while (busy >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  busy += 1;
  try {
    return await work();
  } finally {
    busy -= 1;
    waiting.shift()?.();
  }
}

const stage = createServer((request, response) => {
  request
    .toArray()
    .then(async (chunks) => {
      const scenario = ScenarioRequest.parse(JSON.parse(Buffer.concat(chunks).toString()));
      const answer = await inTurn(() => play(scenario));
      plays.set(scenario.name, answer);
      response.end(JSON.stringify(answer));
    })
    .catch((error: unknown) => response.end(JSON.stringify({ passed: false, report: [String(error)] })));
});
await new Promise<void>((resolve) => stage.listen(0, "127.0.0.1", resolve));
const address = stage.address();
const stageUrl = typeof address === "object" && address ? `http://127.0.0.1:${address.port}` : "";

try {
  for (const suite of suites) {
    plays.clear();
    const cameToItsEnd = (name: string) => plays.get(name)?.passed;
    const outcome = await runClientSuite(suite, { stageUrl, logDir, signal: abort.signal, cameToItsEnd });
    say(outcome.line);
    for (const { name, reasons } of outcome.failures) {
      say(`  failed: ${[name, ...reasons].join("\n    ")}`);
      for (const line of plays.get(name)?.report ?? []) say(`    | ${line.replaceAll("\n", "\n    | ")}`);
    }
    if (outcome.uncounted.length > 0) say(`  not offered and not counted: ${outcome.uncounted.join(", ")}`);
    passed += outcome.passed;
    failed += outcome.failures.length;
    abort.signal.throwIfAborted();
  }
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  failed += 1;
} finally {
  clearTimeout(limit);
  stage.closeAllConnections();
  stage.close();
}

if (failed === 0) await rm(logDir, { recursive: true, force: true });
else say(`Output of the suites: ${logDir}`);
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
