/**
 * Runs the official authorization suite against our own authorization server (`npm run conformance:auth`), once for
 * each version of the specification: through the product, with a person who signs in and allows the suite's client.
 *
 * The last line is `N passed, N failed`, in checks; the exit code is 1 where one failed or warned.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { authorizeHeadless } from "../fixtures/headless-sign-in.ts";
import { publicClient } from "../fixtures/oauth-client.ts";
import { signedInAdmin, type Visitor } from "../fixtures/page-visitor.ts";
import { startProduct } from "../fixtures/product.ts";
import { startProcess } from "./processes.ts";

const ENTRY = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const RUN_LIMIT_MS = 120_000;

/** Specification versions and how many checks each has; without one all run. */
const RUNS = [
  { version: undefined, checks: 3 },
  { version: "2025-06-18", checks: 2 },
  { version: "2025-11-25", checks: 3 },
  { version: "2026-07-28", checks: 3 },
] as const;

const logDir = await mkdtemp(join(tmpdir(), "jackfield-conformance-"));
const say = (line: string) => process.stdout.write(`${line}\n`);
let passed = 0;
let failed = 0;

{
  await using product = await startProduct({
    files: { "jackfield.yml": "version: 1\noauth: { clientDocuments: on }\n" },
  });
  const visitor = await signedInAdmin(product);
  for (const { version, checks } of RUNS) {
    const port = await freePort();
    const clientId = await publicClient(product, `http://127.0.0.1:${port}/callback`);
    const issuer = new URL(product.url).origin;
    const args = ["--url", issuer, "--client-id", clientId, "--port", String(port), "--resource", product.url];
    if (version !== undefined) args.push("--spec-version", version);
    const { good, bad, warned, output } = await runSuite(args, visitor);
    const missing = Math.max(0, checks - good - bad);
    say(`${version ?? "every version"}: ${good} of ${checks} checks, ${warned} warnings`);
    if (bad + missing + warned > 0) say(output);
    passed += good;
    failed += bad + missing + warned;
  }
}
if (failed === 0) await rm(logDir, { recursive: true, force: true });
else say(`Output of the suite: ${logDir}`);
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** One run of the command. Where it prints an authorization URL and waits for a human, `visitor` is that. */
async function runSuite(args: readonly string[], visitor: Visitor) {
  const signal = AbortSignal.timeout(RUN_LIMIT_MS);
  const logFile = join(logDir, "authorization.txt");
  const { child, closed, stop } = startProcess(process.execPath, [ENTRY, "authorization", ...args], {
    logFile,
    signal,
  });
  let output = "";
  let answered: Promise<unknown> | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    const url = /^(https?:\/\/\S+\/oauth\/authorize\?\S+)\s*$/m.exec(output)?.[1];
    // It prints the URL before it listens for the answer.
    if (url !== undefined && output.includes("Callback server started")) answered ??= answer(url, visitor).catch(stop);
  });
  await closed;
  await answered;
  // A line of the summary reads `<mark> <scenario>: <n> passed, <n> failed[, <n> warnings]`.
  const lines = [...output.matchAll(/^[✓✗~⚠] \S+: (\d+) passed, (\d+) failed(?:, (\d+) warnings?)?/gmu)];
  const sum = (part: 1 | 2 | 3) => lines.reduce((total, line) => total + Number(line[part] ?? 0), 0);
  return { good: sum(1), bad: sum(2), warned: sum(3), output };
}

async function answer(url: string, visitor: Visitor): Promise<void> {
  const { redirect, body } = await authorizeHeadless(url, { visitor });
  if (redirect === undefined) throw new Error(`the browser stayed here: ${body.slice(0, 500)}`);
  await fetch(redirect);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
