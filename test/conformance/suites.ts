/** The official suites that the endpoint must pass, how each is run, and what each must show. */

import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { runProcess } from "./processes.ts";
import { parseResults } from "./results.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The last release of the line that knows only the revisions with sessions; most clients were tested with it. */
const OLD_VERSION = "0.1.16";
const ENTRY = join("node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
const Check = z.object({
  name: z.string(),
  description: z.string(),
  status: z.string(),
  errorMessage: z.string().optional(),
});
/** Characters shown of one reason; some carry whole messages. */
const REASON_LIMIT = 300;
const INSTALL_LIMIT_MS = 180_000;

/** One run of the command. */
export interface Suite {
  readonly label: string;
  readonly version: "current" | "old";
  readonly args: readonly string[];
  /** Scored scenarios that the suite holds; fewer in the output means that the run broke off. */
  readonly scenarios: number;
  /** Checks within them. */
  readonly checks: number;
  /** Scenarios that the suite runs without scoring them and that must pass here all the same. */
  readonly also: readonly string[];
  readonly limitMs: number;
}

export const SUITES: readonly Suite[] = [
  {
    label: "2026-07-28",
    version: "current",
    args: ["--requirements", "2026-07-28"],
    scenarios: 37,
    checks: 120,
    also: ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"],
    limitMs: 240_000,
  },
  {
    label: "2025-11-25",
    version: "current",
    args: ["--requirements", "2025-11-25"],
    scenarios: 30,
    checks: 70,
    also: ["json-schema-2020-12", "server-session-lifecycle"],
    limitMs: 180_000,
  },
  {
    label: "active",
    version: "current",
    args: ["--suite", "active"],
    scenarios: 31,
    checks: 73,
    also: [],
    limitMs: 180_000,
  },
  {
    // This release has no limit per scenario: a server that never answers is stopped by the limit of the whole run.
    label: `active of ${OLD_VERSION}`,
    version: "old",
    args: ["--suite", "active"],
    scenarios: 30,
    checks: 40,
    also: [],
    limitMs: 120_000,
  },
];

/** What one suite came to, in scenarios; one that did not run has failed. */
export interface SuiteOutcome {
  readonly line: string;
  readonly passed: number;
  readonly failed: number;
  /** Each failed scenario with its reasons, and what else was wrong with the run. */
  readonly failures: readonly string[];
  /** Failed scenarios that do not count, such as extensions that are not offered. */
  readonly uncounted: readonly string[];
}

/** Where the runs leave their output, and what ends them early. */
export interface RunPlace {
  readonly logDir: string;
  readonly signal: AbortSignal;
}

/** Runs one suite against `url`. Never throws for a failed scenario; rejects where the suite cannot be started. */
export async function runSuite(suite: Suite, url: string, place: RunPlace): Promise<SuiteOutcome> {
  const entry = suite.version === "current" ? join(ROOT, ENTRY) : await installOldVersion(place);
  const started = Date.now();
  const name = suite.label.replaceAll(" ", "-");
  const outputDir = join(place.logDir, name);
  const { code, stdout, timedOut } = await runProcess(
    process.execPath,
    [entry, "server", "--url", url, ...suite.args, "-o", outputDir],
    { limitMs: suite.limitMs, logFile: join(place.logDir, `${name}.txt`), ...place },
  );

  const { scored, notScored } = parseResults(stdout);
  const counted = [...scored, ...notScored.filter((scenario) => suite.also.includes(scenario.name))];
  const broken = counted.filter((scenario) => scenario.failed > 0 || scenario.passed === 0);
  const failures: string[] = [];
  for (const scenario of broken) {
    const reasons = await failedChecks(outputDir, scenario.name);
    failures.push(
      [`${scenario.name}: ${scenario.passed} checks passed, ${scenario.failed} failed`, ...reasons].join("\n    "),
    );
  }
  const passed = counted.length - broken.length;

  const missing = suite.scenarios + suite.also.length - counted.length;
  if (missing > 0) {
    failures.push(
      `${missing} scenarios did not run: ${timedOut ? "the suite took too long" : `it ended with ${code}`}`,
    );
  }
  const checks = scored.reduce((sum, scenario) => sum + scenario.passed, 0);
  const incomplete = failures.length === 0 && checks < suite.checks;
  if (incomplete) failures.push(`only ${checks} of ${suite.checks} checks ran`);

  const seconds = Math.round((Date.now() - started) / 1000);
  return {
    line: `${suite.label}: ${passed} of ${suite.scenarios + suite.also.length} scenarios, ${checks} scored checks passed, ${seconds} s`,
    passed,
    failed: broken.length + Math.max(missing, 0) + (incomplete ? 1 : 0),
    failures,
    uncounted: notScored.filter((s) => s.failed > 0 && !suite.also.includes(s.name)).map((s) => s.name),
  };
}

/** What went wrong in one scenario, a line for each failed check, as the command wrote it to its output directory. */
async function failedChecks(outputDir: string, scenario: string): Promise<string[]> {
  const dirs = existsSync(outputDir) ? await readdir(outputDir) : [];
  // A scenario's directory is named after it and the time of its run.
  const dir = dirs.find(
    (name) => name.startsWith(`server-${scenario}-`) && /^-\d{4}-/u.test(name.slice(7 + scenario.length)),
  );
  if (dir === undefined) return [];
  const checks = z.array(Check).safeParse(JSON.parse(await readFile(join(outputDir, dir, "checks.json"), "utf8")));
  return (checks.data ?? [])
    .filter((check) => check.status === "FAILURE")
    .map((check) => `${check.name}: ${(check.errorMessage ?? check.description).slice(0, REASON_LIMIT)}`);
}

/** Installs the old release beside the repository, once per machine; answers with the path of its command. */
async function installOldVersion(place: RunPlace): Promise<string> {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const prefix = join(cache, "jackfield", `conformance-${OLD_VERSION}`);
  const entry = join(prefix, ENTRY);
  if (existsSync(entry)) return entry;
  await mkdir(prefix, { recursive: true });
  const args = ["install", "--prefix", prefix, "--no-save", `@modelcontextprotocol/conformance@${OLD_VERSION}`];
  for (let attempt = 1; attempt <= 2; attempt++) {
    const logFile = join(place.logDir, "install.txt");
    const { code } = await runProcess("npm", args, {
      cwd: prefix,
      limitMs: INSTALL_LIMIT_MS,
      logFile,
      signal: place.signal,
    });
    if (code === 0 && existsSync(entry)) return entry;
  }
  throw new Error(`npm could not install @modelcontextprotocol/conformance@${OLD_VERSION}`);
}
