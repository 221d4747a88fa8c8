// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the patterns name variables this way
/** Guards beyond the examples of docs/guards.md (guard-table.test.ts). */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkGuards, compileGuards, type GuardPatterns } from "../server/access/guards.ts";

type Example = [patterns: GuardPatterns, value: unknown, passes: boolean];

function passes(key: string, patterns: GuardPatterns, args: object, path = false, variables = {}): boolean {
  const guards = compileGuards({ [key]: patterns }, { path, place: "args" });
  return checkGuards({ guards, onlyArgs: false }, { ...args }, variables) === undefined;
}

function table(title: string, examples: Example[], path = false) {
  describe(title, () => {
    examples.forEach(([patterns, value, expected], line) => {
      const shown = typeof value === "string" ? value : JSON.stringify(value);
      it(`${line + 1}. ${JSON.stringify(patterns)} ${expected ? "takes" : "refuses"} ${JSON.stringify(shown)?.slice(0, 60)}`, () => {
        assert.equal(passes("to", patterns, { to: value }, path), expected);
      });
    });
  });
}

table("what JSON cannot hold", [
  [["*"], Number.NaN, false],
  [["*"], Number.POSITIVE_INFINITY, false],
  [["**"], undefined, false],
]);

describe("keys", () => {
  const holds = (key: string, args: object) => passes(key, ["ok"], args);
  it("are found nested", () => assert.ok(holds("a.b", { a: { b: "ok" } })));
  it("are found as a literal dotted name", () => assert.ok(holds("a.b", { "a.b": "ok" })));
  it("must match both where both are there", () => {
    assert.ok(holds("a.b", { "a.b": "ok", a: { b: "ok" } }));
    assert.ok(!holds("a.b", { "a.b": "ok", a: { b: "no" } }));
    assert.ok(!holds("a.b", { "a.b": "no", a: { b: "ok" } }));
  });
  it("are found where only a part of the path is a literal dotted name", () => {
    assert.ok(!holds("a.b.c", { a: { "b.c": "no" }, "a.b": { c: "ok" } }));
    assert.ok(holds("a.b.c", { "a.b": { c: "ok" } }));
  });
  it("reach every element of a list on the way", () => {
    assert.ok(holds("a.b", { a: [{ b: "ok" }, { b: "ok" }] }));
    assert.ok(!holds("a.b", { a: [{ b: "ok" }, { b: "no" }] }));
    assert.ok(!holds("a.b", { a: [{ b: "ok" }, {}] }));
    assert.ok(!holds("a.b", { a: [] }));
  });
  it("refuse what cannot be looked into", () => {
    assert.ok(!holds("a.b", { a: "ok" }));
    assert.ok(!passes("a.b", { match: ["ok"], optional: true }, { a: "ok" }));
    assert.ok(!passes("a.b", { match: ["ok"], optional: true }, { a: null }));
    assert.ok(passes("a.b", { match: ["ok"], optional: true }, { a: {} }));
  });
  it("are never inherited", () => {
    assert.ok(!passes("toString", ["**"], {}));
    assert.ok(!passes("constructor.name", ["**"], {}));
    assert.ok(!passes("__proto__", ["**"], {}));
    assert.ok(!holds("a", Object.create({ a: "ok" })));
  });
  it("see __proto__ where the JSON holds it as a key of its own", () => {
    const args: object = JSON.parse('{"__proto__": "no", "to": "ok"}');
    const guards = compileGuards(JSON.parse('{"__proto__": ["ok"]}'), { path: false, place: "args" });
    assert.equal(checkGuards({ guards, onlyArgs: false }, JSON.parse('{"__proto__": "no"}'), {})?.why, "outside");
    assert.ok(holds("to", args));
  });
  it("may be the listed name of a property that the listing renamed", () => {
    const guards = compileGuards({ send_to: ["ok"] }, { path: false, place: "args" });
    const names = new Map([["send_to", "send to"]]);
    const check = (args: object) => checkGuards({ guards, onlyArgs: true }, { ...args }, {}, names)?.why;
    assert.equal(check({ "send to": "ok" }), undefined);
    assert.equal(check({ "send to": "no" }), "outside");
    assert.equal(check({ "send to": "ok", send_to: "no" }), "outside");
    assert.equal(check({}), "missing");
  });
});

describe("a missing argument", () => {
  it("is refused", () => assert.ok(!passes("to", ["**"], {})));
  it("passes where it is optional", () => assert.ok(passes("to", { match: ["a"], optional: true }, {})));
});

describe("onlyArgs", () => {
  const guards = [
    ...compileGuards({ to: ["ok"], "a.b": { match: ["ok"], optional: true } }, { path: false, place: "args" }),
    ...compileGuards({ file: { match: ["**"], optional: true } }, { path: true, place: "paths" }),
  ];
  const check = (args: object) => checkGuards({ guards, onlyArgs: true }, { ...args }, {});
  it("takes what is named", () => assert.equal(check({ to: "ok", file: "a", a: { b: "ok" } }), undefined));
  it("refuses an argument that is not named", () => assert.equal(check({ to: "ok", cc: "ok" })?.argument, "cc"));
  it("refuses one beside a named nested one", () => {
    assert.equal(check({ to: "ok", a: { b: "ok", c: 1 } })?.argument, "a.c");
  });
  it("refuses one inside a list", () => {
    assert.equal(check({ to: "ok", a: [{ b: "ok" }, { b: "ok", c: 1 }] })?.argument, "a.c");
  });
  it("refuses an own __proto__", () => {
    assert.equal(check(JSON.parse('{"to":"ok","__proto__":{"x":1}}'))?.argument, "__proto__");
  });
  it("is silent about other entries where it is off", () => {
    assert.equal(checkGuards({ guards, onlyArgs: false }, { to: "ok", cc: "x" }, {}), undefined);
  });
});

describe("variables in guards", () => {
  const own = ["${{user}}/**"];
  it("fill in the caller's value", () => {
    assert.ok(passes("p", own, { p: "ann/x" }, true, { user: "ann" }));
    assert.ok(!passes("p", own, { p: "bob/x" }, true, { user: "ann" }));
  });
  it("refuse where they are not resolved or empty", () => {
    assert.ok(!passes("p", own, { p: "ann/x" }, true, {}));
    assert.ok(!passes("p", own, { p: "/x" }, true, { user: "" }));
    assert.ok(!passes("p", own, { p: "null/x" }, true, { user: null }));
  });
  it("never act as a pattern", () => {
    for (const user of ["*", "**", "{ann,bob}", "?ob", "b\\ob"]) {
      assert.ok(!passes("p", own, { p: "bob/x" }, true, { user }), user);
    }
  });
  it("leave other patterns of the argument usable", () => {
    assert.ok(passes("p", ["${{gone}}", "shared"], { p: "shared" }, false, {}));
  });
  it("read dotted names", () => {
    const args = { to: "ann@acme.example" };
    assert.ok(passes("to", ["${{principal.email}}"], args, false, { principal: { email: "ann@acme.example" } }));
  });
});

describe("a refusal", () => {
  it("names the argument and the patterns, and never repeats the value", () => {
    const guards = compileGuards({ to: ["*@acme.example"] }, { path: false, place: "args" });
    const failure = checkGuards({ guards, onlyArgs: false }, { to: "secret@evil.example" }, {});
    assert.match(failure?.reason ?? "", /"to".*\*@acme\.example/);
    assert.doesNotMatch(failure?.reason ?? "", /secret/);
  });
  it("of a pattern that cannot be read names its place", () => {
    assert.throws(
      () => compileGuards({ to: ["ok", "{"] }, { path: false, place: "allow[0].args" }),
      /allow\[0\]\.args\.to\[1\]/,
    );
  });
});
