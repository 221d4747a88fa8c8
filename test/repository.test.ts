import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { lineAt, listFiles, ROOT } from "./source/files.ts";

interface LockedPackage {
  readonly dev?: boolean;
  readonly resolved?: string;
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0").filter(Boolean);
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, LockedPackage> };

/** Where a pattern occurs in tracked text files, as `file:line: what was found`. */
function occurrences(pattern: RegExp): string[] {
  return tracked
    .filter((path) => existsSync(join(ROOT, path)))
    .flatMap((path) => {
      const text = read(path);
      if (text.includes("\0")) return [];
      return [...text.matchAll(pattern)].map((match) => `${path}:${lineAt(text, match.index)}: ${match[0]}`);
    });
}

test("no tracked file names a directory of somebody's machine", () => {
  // /home/node is the home directory of the official Node images, not of a machine.
  const home = String.raw`(?<![\w.~*}])/(?:work|workspace|root|Users/\w+|home/(?!node\b)\w+)/[\w.@-]`;
  assert.deepEqual(occurrences(new RegExp(`${home}|\\b[A-Z]:\\\\Users\\\\`, "gu")), []);
});

test("no tracked file names a package registry, so that the user's own setting decides", () => {
  const host = String.raw`\bhttps?://[\w.-]*(?:registry|npmjs|verdaccio|artifactory|nexus)[\w.-]*\.[a-z]+(?:[:/]|\b)`;
  assert.deepEqual(occurrences(new RegExp(host, "gu")), []);
});

test("the lock file pins versions without saying where they come from", () => {
  const resolved = Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined);
  assert.deepEqual(resolved, []);
  assert.ok(Object.keys(lock.packages).length > 50);
});

const variableName = "[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+";

test("every environment variable that the server reads is documented, and no other", () => {
  const everywhere = [...listFiles("server", ".ts"), "launch.js"]
    .map(read)
    .join("\n")
    .matchAll(/\bJACKFIELD_[A-Z0-9_]+\b/gu);
  // In the one file that reads the environment: a key of the schema, a property of env, or a quoted name.
  const inConfig = read("server/config.ts").matchAll(
    new RegExp(`^\\s*(${variableName})\\??:|\\benv\\.(${variableName})\\b|["'](${variableName})["']`, "gmu"),
  );
  const names = new Set([
    ...[...everywhere].map(([name]) => name),
    ...[...inConfig].map((match) => match[1] ?? match[2] ?? match[3]!),
  ]);
  assert.ok(names.has("JACKFIELD_PORT") && names.has("DATABASE_URL"), "the names were read");

  const documentation = read("docs/configuration.md");
  const table = [...documentation.matchAll(new RegExp(`^\\| \`(${variableName})\``, "gmu"))].map((match) => match[1]!);
  assert.deepEqual([...names].filter((name) => !table.includes(name)).sort(), [], "read but not documented");
  assert.deepEqual(
    table.filter((name) => !names.has(name)),
    [],
    "documented but not read",
  );
});

const ALLOWED = new Set([
  ...["MIT", "MIT-0", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0", "Zlib"],
  // argparse, in the command line of js-yaml: a permissive licence of the BSD kind.
  "PSF-2.0",
  ...["CC0-1.0", "Unlicense", "Python-2.0"],
]);

/** Packages whose manifest names no licence identifier; their README or licence file is that of MIT. */
const KNOWN = new Set([
  ...["everything", "filesystem", "memory"].map((name) => `node_modules/@modelcontextprotocol/server-${name}`),
  "node_modules/querystring-es3",
  // Of passport.
  "node_modules/passport-strategy",
  "node_modules/pause",
]);

/** Whether an SPDX expression (without exceptions, which none uses) can be fulfilled by allowed licences alone. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replaceAll(/[()]/gu, "").split(/\s+OR\s+/u);
  return alternatives.some((terms) => terms.split(/\s+AND\s+/u).every((licence) => ALLOWED.has(licence.trim())));
}

test("every package that is installed for production has a permissive licence", () => {
  const installed = Object.entries(lock.packages)
    .filter(([path, entry]) => path !== "" && entry.dev !== true && existsSync(join(ROOT, path, "package.json")))
    .map(([path]) => path);
  assert.ok(installed.length > 50);
  const refused = installed.filter((path) => {
    const { license } = JSON.parse(read(`${path}/package.json`)) as { license?: unknown };
    return !KNOWN.has(path) && !(typeof license === "string" && isAllowed(license));
  });
  assert.deepEqual(refused, []);
});

test("a licence expression is allowed only where allowed licences are enough", () => {
  assert.equal(isAllowed("(MIT OR GPL-3.0-or-later)"), true);
  assert.equal(isAllowed("MIT AND GPL-3.0-or-later"), false);
  assert.equal(isAllowed("AGPL-3.0-only"), false);
  assert.equal(isAllowed("SEE LICENSE IN LICENSE"), false);
});
