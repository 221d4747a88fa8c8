// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the patterns name variables this way
/** Patterns: what they match, what they refuse to match, and that a match is linear in the value. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assembleGlob, compileGlob, compileNames, GlobError, parseGlob } from "../server/access/glob.ts";
import { canonicalPath } from "../server/access/paths.ts";
import { bindVariables, resolveVariable, variablesOf } from "../server/access/variables.ts";

describe("patterns that cannot be read", () => {
  for (const pattern of [
    "a{b",
    "a}b",
    "{a,{b}",
    "a\\",
    "${{}}",
    "${{a b}}",
    "${{__proto__.}}",
    "${{open",
    "x".repeat(5000),
  ]) {
    it(`refuses ${pattern.slice(0, 20)}`, () => assert.throws(() => parseGlob(pattern), GlobError));
  }

  it("refuses alternatives nested too deeply", () => {
    assert.throws(() => parseGlob("{".repeat(20) + "}".repeat(20)), GlobError);
  });
});

describe("a match of a huge string", () => {
  const value = "a".repeat(100_000);
  const patterns = [
    "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab",
    "**a**a**a**a**a**a**a**a**a**ab",
    "{a,aa,aaa}{*,**}{*,**}{*,**}b",
    "{*,**,{*,{*,**}}}{*,**}*?*?*?*?*b",
    "???????*??????*?????b",
  ];
  for (const pattern of patterns) {
    it(`visits each state at most twice per character: ${pattern.slice(0, 30)}`, () => {
      const glob = assembleGlob(parseGlob(pattern));
      const { matched, steps } = glob.steps(value);
      assert.equal(matched, false);
      // A pattern of n characters compiles to at most 2n instructions.
      assert.ok(steps <= 2 * (value.length + 1) * (2 * pattern.length + 1), `${steps} steps`);
      const half = glob.steps(value.slice(0, value.length / 2)).steps;
      assert.ok(steps <= 2.1 * half, `${half} steps for half, ${steps} for the whole`);
    });
  }

  it("gives up at the first character that nothing can match", () => {
    const { steps } = assembleGlob(parseGlob("b*")).steps(value);
    assert.ok(steps < 10);
  });
});

describe("patterns over names", () => {
  it("let * take every character, since nothing is smuggled into a name", () => {
    assert.ok(compileGlob("*", { name: true })("Find, then; delete\n"));
  });
  it("match exact names and patterns in one list", () => {
    const matches = compileNames(["get_*", "list_{issues,projects}", "Find Orders"]);
    assert.deepEqual(["get_issue", "list_issues", "list_users", "Find Orders", "forget_issue"].map(matches), [
      true,
      true,
      false,
      true,
      false,
    ]);
  });
});

describe("the canonical form of a path", () => {
  const cases: [string, string | undefined][] = [
    ["a/b", "a/b"],
    ["./a//b/./c", "a/b/c"],
    ["a/../b", "b"],
    ["a/b/../../c", "c"],
    ["/a/../../b", "/b"],
    ["//a", "/a"],
    ["a/b/", "a/b/"],
    ["a/b/..", "a/"],
    [".", ""],
    ["", ""],
    ["/", "/"],
    ["..", undefined],
    ["../a", undefined],
    ["a/../../b", undefined],
    ["a\0/b", undefined],
    ["a/..\\..\\b", undefined],
    ["a\\..\\b", undefined],
    ["a/%2e%2e/b", undefined],
    ["a/%252e%252e/b", undefined],
    ["a/..%2fb", undefined],
    ["a/\uff0e\uff0e/b", undefined],
    ["a/..\uff0fb", undefined],
    ["a...b/..c", "a...b/..c"],
    ["100%/done", "100%/done"],
  ];
  for (const [path, canonical] of cases) {
    it(`${JSON.stringify(path)} -> ${JSON.stringify(canonical)}`, () => assert.equal(canonicalPath(path), canonical));
  }
});

describe("variables", () => {
  const variables = {
    team: "web",
    level: 3,
    on: true,
    empty: "",
    none: null,
    list: ["a"],
    principal: { email: "a@x" },
  };
  const cases: [string, string | undefined][] = [
    ["team", "web"],
    ["level", "3"],
    ["on", "true"],
    ["principal.email", "a@x"],
    ["empty", undefined],
    ["none", undefined],
    ["list", undefined],
    ["list.0", undefined],
    ["principal", undefined],
    ["principal.name", undefined],
    ["absent", undefined],
    ["constructor", undefined],
    ["__proto__", undefined],
    ["team.length", undefined],
  ];
  for (const [name, value] of cases) {
    it(`${name} -> ${value}`, () => assert.equal(resolveVariable(name, variables), value));
  }

  it("are not resolved where a dotted key and a path disagree", () => {
    assert.equal(resolveVariable("a.b", { "a.b": "1", a: { b: "2" } }), undefined);
    assert.equal(resolveVariable("a.b", { "a.b": "1", a: { b: "1" } }), "1");
  });
  it("are named once each", () => {
    assert.deepEqual(variablesOf(parseGlob("${{a}}/{${{b.c}},${{ a }}}")), ["a", "b.c"]);
  });
  it("are spliced in literally, whatever they hold", () => {
    for (const value of ["*", "**", "?", "{a,b}", "\\", "${{team}}", "a*"]) {
      const bound = bindVariables(parseGlob("x-${{v}}"), { v: value });
      assert.ok(Array.isArray(bound));
      const glob = assembleGlob(bound);
      assert.ok(glob.test(`x-${value}`));
      assert.ok(!glob.test("x-anything"));
    }
  });
  it("make the whole pattern unusable where one is not resolved, also inside alternatives", () => {
    assert.deepEqual(bindVariables(parseGlob("{ok,${{gone}}}"), {}), { unresolved: "gone" });
  });
  it("have no meaning in a pattern over names", () => assert.throws(() => compileGlob("${{a}}"), GlobError));
});
