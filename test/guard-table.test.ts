/** Every line of the table in docs/guards.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assembleGlob, parseGlob } from "../server/access/glob.ts";
import { checkGuards, compileGuards } from "../server/access/guards.ts";
import { ROOT } from "./source/files.ts";

interface Example {
  readonly section: string;
  readonly guard: string;
  readonly args: string;
  readonly variables: string;
  readonly passes: boolean;
}

const ROW = /^\| `(\{.*?\})` \| `(.*?)` \| (?:`(.*?)`)? ?\| (passes|refused) \|$/;

function examples(): Example[] {
  const found: Example[] = [];
  let section = "";
  for (const line of readFileSync(join(ROOT, "docs/guards.md"), "utf8").split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3);
    if (!line.startsWith('| `{"')) continue;
    const row = ROW.exec(line);
    assert.ok(row, `this line is no example: ${line}`);
    const [, guard = "", args = "", variables = "{}", outcome] = row;
    found.push({ section, guard, args, variables, passes: outcome === "passes" });
  }
  return found;
}

const all = examples();

it("holds at least 120 examples, and some of each kind", () => {
  assert.ok(all.length >= 120, String(all.length));
  assert.ok(new Set(all.map(({ section }) => section)).size >= 7);
});

for (const section of new Set(all.map((example) => example.section))) {
  describe(section, () => {
    for (const { guard, args, variables, passes } of all.filter((example) => example.section === section)) {
      it(`${guard} ${passes ? "takes" : "refuses"} ${args}`, () => {
        const guards = compileGuards(JSON.parse(guard), { path: section === "Paths", place: "args" });
        const failure = checkGuards(
          { guards, onlyArgs: section.startsWith("Only") },
          JSON.parse(args),
          JSON.parse(variables),
        );
        assert.equal(failure === undefined, passes, failure?.reason);
      });
    }
  });
}

describe("a huge value against many stars", () => {
  const steps = (pattern: string, value: string) => assembleGlob(parseGlob(pattern)).steps(value).steps;
  for (const pattern of ["*a*a*a*a*a*a*a*a*b", "**a**a**a**a**a**b", "{*,**}{*a,**b}{*,**}c", "?*?*?*?*?*x"]) {
    it(`costs steps in proportion to its length: ${pattern}`, () => {
      const [short, long] = [steps(pattern, "a".repeat(1_000)), steps(pattern, "a".repeat(100_000))];
      assert.ok(long <= short * 101, `${short} steps for 1,000 characters, ${long} for 100,000`);
    });
  }
});
