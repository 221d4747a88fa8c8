/**
 * `npm run pieces:check`: installs every piece of `test/fixtures/pieces/names.txt`, loads each in the sandbox and makes
 * tools of its actions. Prints one JSON object; fails where fewer load, or become tools, than the bars say.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readDescription } from "../../adapters/pieces/description.ts";
import { toolOf } from "../../adapters/pieces/visible.ts";
import { createPool } from "../../sandbox/pool.ts";
import { createSchemas } from "../../server/gateway/arguments.ts";
import { assignNames, MAX_NAME, NAME_PATTERN } from "../../server/gateway/names.ts";
import { portableSchema } from "../../server/gateway/portable-schema.ts";
import { bundlePiece } from "../../server/pieces/bundle.ts";
import { npmInstall } from "../../server/pieces/fetch-package.ts";
import { refusedBundle, refusedPiece } from "../../server/pieces/refusals.ts";
import { silentLog } from "../fixtures/silent-log.ts";

/** Of 74 pieces with 458 actions. */
const BARS = { loaded: 72, tools: 443, actions: 458 };

interface Report {
  piece: string;
  version: string;
  loads: boolean;
  /** Actions that it has in the sandbox, and that become valid tools. */
  actions: number;
  tools: number;
  /** Why it does not load, or which actions are no tools. */
  reasons: string[];
  /** Why `pieces install` would not keep it; it was loaded all the same. */
  refused?: string;
}

const names = readFileSync(new URL("../fixtures/pieces/names.txt", import.meta.url), "utf8")
  .trim()
  .split("\n");
const directory = mkdtempSync(join(tmpdir(), "pieces-check-"));
const bundles = join(directory, "bundles");
const pool = createPool({
  fetch: () => Promise.reject(new Error("nothing is asked while a piece is loaded")),
  log: silentLog,
  bundleDirectory: bundles,
  cacheDirectory: join(directory, "cache"),
});

try {
  mkdirSync(bundles);
  const installed = join(directory, "installed");
  mkdirSync(installed);
  writeFileSync(join(installed, "package.json"), '{"name":"pieces-check","private":true}');
  await npmInstall(installed, names, { env: process.env });
  const reports: Report[] = [];
  for (const spec of names) reports.push(await check(installed, spec.slice(0, spec.lastIndexOf("@"))));
  const sum = (key: "actions" | "tools") => reports.reduce((total, report) => total + report[key], 0);
  const loaded = reports.filter(({ loads }) => loads).length;
  const ok = loaded >= BARS.loaded && sum("tools") >= BARS.tools;
  const totals = { pieces: reports.length, loaded, actions: sum("actions"), tools: sum("tools") };
  process.stdout.write(`${JSON.stringify({ ok, bars: BARS, ...totals, reports }, undefined, 2)}\n`);
  process.exitCode = ok ? 0 : 1;
} finally {
  await pool.close();
  rmSync(directory, { recursive: true, force: true });
}

async function check(installed: string, name: string): Promise<Report> {
  const manifest: { version: string } = createRequire(import.meta.url)(
    join(installed, "node_modules", name, "package.json"),
  );
  const { version } = manifest;
  const report: Report = { piece: name, version, loads: false, actions: 0, tools: 0, reasons: [] };
  try {
    const folder = join(directory, "bundling");
    const bundled = await bundlePiece(installed, { name, version }, folder);
    rmSync(join(bundles, bundled.hash), { recursive: true, force: true });
    renameSync(folder, join(bundles, bundled.hash));
    const description = readDescription(await pool.describe({ piece: `${name}@${version}`, hash: bundled.hash }));
    report.loads = true;
    report.actions = description.actions.length;
    const publicNames = assignNames(
      "piece",
      description.actions.map((action) => action.name),
    );
    for (const action of description.actions) {
      const tool = toolOf(action);
      const reason =
        tool === undefined
          ? "an argument of an unknown type"
          : problemOf(tool.inputSchema, publicNames.get(action.name));
      if (reason === undefined) report.tools += 1;
      else report.reasons.push(`${action.name}: ${reason}`);
    }
    const refused = refusedBundle(bundled) ?? refusedPiece(description, bundled.packages);
    if (refused !== undefined) report.refused = refused;
  } catch (error) {
    report.reasons.push(error instanceof Error ? error.message : String(error));
  }
  return report;
}

/** Why a client could not take the tool. */
function problemOf(schema: Record<string, unknown>, name: string | undefined): string | undefined {
  if (name === undefined || !NAME_PATTERN.test(name) || name.length > MAX_NAME) return `its name ${name} is not legal`;
  const warnings: string[] = [];
  const schemas = createSchemas({ ...silentLog, warn: (details) => void warnings.push(JSON.stringify(details)) });
  for (const one of [schema, portableSchema(schema).schema]) schemas.problem(JSON.stringify(one), one, {});
  return warnings.length === 0 ? undefined : `its schema does not compile: ${warnings[0]}`;
}
