/** The official suites that the product must pass as a client, how each is run, and what each must show. */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { runProcess } from "./processes.ts";
import { parseResults } from "./results.ts";

const ENTRY = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const DRIVER = fileURLToPath(new URL("./driver.ts", import.meta.url));
/** All scenarios of a suite start at once and wait for their turn. */
const SCENARIO_LIMIT_MS = 150_000;
const REASON_LIMIT = 300;
const Check = z.object({
  name: z.string(),
  description: z.string(),
  status: z.string(),
  errorMessage: z.string().optional(),
});

/** One run of the command. */
export interface ClientSuite {
  readonly label: string;
  readonly args: readonly string[];
  /** Scenarios that must run and pass. */
  readonly scenarios: number;
  /** Scenarios that the suite runs without scoring them and that must pass here all the same. */
  readonly also: readonly string[];
}

/** Client credentials are an extension that is offered; the other extensions are not. */
const ALSO = ["auth/client-credentials-basic", "auth/client-credentials-jwt", "json-schema-2020-12-preservation"];

export const CLIENT_SUITES: readonly ClientSuite[] = [
  { label: "2026-07-28", args: ["--requirements", "2026-07-28"], scenarios: 32, also: ALSO },
  { label: "2025-11-25", args: ["--requirements", "2025-11-25"], scenarios: 18, also: ALSO },
  // How servers of 2025-03-26 are signed in to stands in neither set of requirements.
  single("auth/2025-03-26-oauth-metadata-backcompat"),
  single("auth/2025-03-26-oauth-endpoint-fallback"),
];

/** A suite of one scenario. @param version the revision to test it at; absent: its own */
export function single(name: string, version?: string): ClientSuite {
  const at = version === undefined ? [] : ["--spec-version", version];
  return { label: name, args: ["--scenario", name, ...at], scenarios: 1, also: [] };
}

export interface ClientOutcome {
  readonly line: string;
  readonly passed: number;
  readonly failures: readonly { readonly name: string; readonly reasons: readonly string[] }[];
  /** Failed scenarios of extensions that are not offered. */
  readonly uncounted: readonly string[];
}

export interface ClientRun {
  /** Where driver.ts hands its scenario to. */
  readonly stageUrl: string;
  readonly logDir: string;
  readonly signal: AbortSignal;
  /** Whether a scenario came to the end that was expected of it; undefined where it was not played. */
  readonly cameToItsEnd: (name: string) => boolean | undefined;
}

/** Runs one suite. Never throws for a failed scenario; rejects where the suite cannot be started. */
export async function runClientSuite(suite: ClientSuite, run: ClientRun): Promise<ClientOutcome> {
  const started = Date.now();
  const outputDir = join(run.logDir, suite.label.replaceAll("/", "-"));
  await mkdir(outputDir, { recursive: true });
  const command = `"${process.execPath}" "${DRIVER}"`;
  const { code, stdout, timedOut } = await runProcess(
    process.execPath,
    [ENTRY, "client", "--command", command, ...suite.args, "--timeout", String(SCENARIO_LIMIT_MS), "-o", outputDir],
    {
      env: { ...process.env, CONFORMANCE_STAGE: run.stageUrl },
      limitMs: SCENARIO_LIMIT_MS + 30_000,
      logFile: join(run.logDir, "client.txt"),
      signal: run.signal,
    },
  );
  const isSingle = suite.args[0] === "--scenario";
  const { scored, notScored } = isSingle ? await oneResult(suite.label, outputDir, code) : parseResults(stdout);
  const counted = [...scored, ...notScored.filter(({ name }) => suite.also.includes(name))];
  const broken = counted.filter(
    ({ name, passed, failed }) => failed > 0 || passed === 0 || run.cameToItsEnd(name) !== true,
  );
  const failures = await Promise.all(
    broken.map(async ({ name }) => ({ name, reasons: await failedChecks(outputDir, name) })),
  );
  const missing = suite.scenarios + suite.also.length - counted.length;
  if (missing > 0) {
    const why = timedOut ? "the suite took too long" : `it ended with ${code}`;
    failures.push({ name: `${missing} scenarios that did not run`, reasons: [why] });
  }
  const checks = counted.reduce((sum, { passed }) => sum + passed, 0);
  const passed = counted.length - broken.length;
  const seconds = Math.round((Date.now() - started) / 1000);
  return {
    line: `${suite.label}: ${passed} of ${suite.scenarios + suite.also.length} scenarios, ${checks} checks passed, ${seconds} s`,
    passed,
    failures,
    uncounted: notScored.filter((s) => s.failed > 0 && !suite.also.includes(s.name)).map((s) => s.name),
  };
}

/** A run of one scenario prints no summary: its checks are read from where it wrote them. */
async function oneResult(name: string, outputDir: string, code: number | null) {
  const checks = await checksOf(outputDir, name);
  const count = (status: string) => checks.filter((check) => check.status === status).length;
  const failed = Math.max(count("FAILURE"), code === 0 ? 0 : 1);
  return { scored: [{ name, passed: count("SUCCESS"), failed }], notScored: [] };
}

async function failedChecks(outputDir: string, scenario: string): Promise<string[]> {
  return (await checksOf(outputDir, scenario))
    .filter((check) => check.status === "FAILURE")
    .map((check) => `${check.name}: ${(check.errorMessage ?? check.description).slice(0, REASON_LIMIT)}`);
}

/** A scenario's directory is named after it and the time of its run. */
async function checksOf(outputDir: string, scenario: string): Promise<z.infer<typeof Check>[]> {
  const parent = join(outputDir, dirname(scenario));
  const name = scenario.slice(scenario.lastIndexOf("/") + 1);
  const dirs = existsSync(parent) ? await readdir(parent) : [];
  const dir = dirs.find(
    (entry) => entry.startsWith(`${name}-`) && /^-\d{4}-\d{2}-\d{2}T/u.test(entry.slice(name.length)),
  );
  if (dir === undefined) return [];
  return z.array(Check).parse(JSON.parse(await readFile(join(parent, dir, "checks.json"), "utf8")));
}
