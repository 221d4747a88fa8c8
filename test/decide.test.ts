// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the patterns name variables this way
/** The one decision about a call. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DecisionInput, decide } from "../server/access/decide.ts";
import { compilePolicy, grantOf, type PolicyEntry } from "../server/access/policy.ts";

const connections = [{ slug: "mail" }];

function grant(allow: PolicyEntry[] | undefined, forbid: PolicyEntry[] = []) {
  const policy = compilePolicy({ allow, forbid, environmentForbid: [], connections });
  return grantOf(policy, { name: "mail__send", connectionSlug: "mail", action: "send" });
}

const input = (change: Partial<DecisionInput> = {}, tool: Partial<DecisionInput["tool"]> = {}): DecisionInput => ({
  tool: { name: "mail__send", action: "send", class: "write", state: "approved", approval: "none", ...tool },
  grant: grant(undefined),
  args: {},
  variables: {},
  scopes: new Set(["mcp:read", "mcp:write"]),
  door: "by_name",
  ...change,
});

const told = (value: DecisionInput): string => {
  const decision = decide(value);
  return decision.kind === "refuse" ? `${decision.code} ${decision.rule}` : `${decision.kind} ${decision.rule}`;
};

describe("a decision", () => {
  it("allows what a rule covers, and names it", () => {
    assert.equal(told(input()), "allow open");
    assert.equal(told(input({ grant: grant(["x", "mail__*"]) })), "allow allow[1]");
  });

  it("answers like a nonexistent tool for everything the caller may not see", () => {
    const hidden = [
      input({}, { class: undefined }),
      input({}, { state: "pending" }),
      input({}, { state: "gone" }),
      input({ grant: grant([]) }),
      input({ grant: grant(undefined, ["*"]) }),
      input({ grant: { unbound: "allow[0]: several" } }),
      input({ grant: grant([]) }, { state: "changed" }),
    ];
    const answers = hidden.map((value) => decide(value));
    for (const answer of answers) {
      assert.equal(answer.kind, "refuse");
      assert.equal(answer.kind === "refuse" && answer.code, "unknown_tool");
      assert.equal(answer.kind === "refuse" && answer.reason, 'Unknown tool "mail__send".');
    }
  });

  it("says that a granted tool changed", () =>
    assert.equal(told(input({}, { state: "changed" })), "tool_changed review:changed"));

  it("lets tool_read call only read tools, and tool_write both", () => {
    assert.equal(told(input({ door: "tool_read" })), "class_refused door:tool_read");
    assert.equal(told(input({ door: "tool_read" }, { class: "read" })), "allow open");
    assert.equal(told(input({ door: "tool_write" }, { class: "read" })), "allow open");
  });

  it("wants the scope of the class", () => {
    assert.equal(told(input({ scopes: new Set(["mcp:read"]) })), "scope_refused scope:mcp:write");
    assert.equal(told(input({ scopes: new Set(["mcp:write"]) }, { class: "read" })), "scope_refused scope:mcp:read");
  });

  it("refuses arguments outside every rule and says why for the first one", () => {
    const guarded = grant([
      { tool: "mail__send", args: { to: ["*@acme.example"] } },
      { tool: "mail__send", args: { to: ["ops@other.example"] } },
    ]);
    assert.equal(told(input({ grant: guarded, args: { to: "a@acme.example" } })), "allow allow[0]");
    assert.equal(told(input({ grant: guarded, args: { to: "ops@other.example" } })), "allow allow[1]");
    assert.equal(told(input({ grant: guarded, args: { to: "x@evil.example" } })), "guard_refused allow[0]");
    assert.equal(told(input({ grant: guarded, args: {} })), "guard_refused allow[0]");
  });

  it("asks a person only for what the rules let through", () => {
    const guarded = grant([{ tool: "mail__send", args: { to: ["ok"] } }]);
    assert.equal(
      told(input({ grant: guarded, args: { to: "ok" } }, { approval: "required" })),
      "needs_approval allow[0]",
    );
    assert.equal(
      told(input({ grant: guarded, args: { to: "no" } }, { approval: "required" })),
      "guard_refused allow[0]",
    );
  });

  it("fills in variables", () => {
    const own = grant([{ tool: "mail__send", args: { to: ["${{principal.email}}"] } }]);
    const variables = { principal: { email: "a@x" } };
    assert.equal(told(input({ grant: own, args: { to: "a@x" }, variables })), "allow allow[0]");
    assert.equal(told(input({ grant: own, args: { to: "a@x" } })), "guard_refused allow[0]");
  });
});

describe("a denial with conditions", () => {
  const denied = (args: object, patterns: string[] = ["*@evil.example"], key = "to") =>
    decide(input({ grant: grant(undefined, [{ tool: "mail__send", args: { [key]: patterns } }]), args: { ...args } }))
      .kind === "refuse";
  it("catches what matches and leaves the rest", () => {
    assert.ok(denied({ to: "x@evil.example" }));
    assert.ok(!denied({ to: "x@acme.example" }));
    assert.ok(!denied({}));
  });
  it("catches one of many, in a list or in one text", () => {
    assert.ok(denied({ to: ["a@acme.example", "x@evil.example"] }));
    assert.ok(denied({ to: "a@acme.example, x@evil.example" }));
  });
  it("catches what it cannot judge", () => {
    assert.ok(denied({ to: null }));
    assert.ok(denied({ to: { address: "x" } }));
    assert.ok(denied({ to: "x" }, ["${{gone}}"]));
  });
  it("needs every argument that it names", () => {
    const both = grant(undefined, [{ tool: "mail__send", args: { to: ["x"], force: ["true"] } }]);
    assert.equal(told(input({ grant: both, args: { to: "x", force: true } })), "guard_refused forbid[0]");
    assert.equal(told(input({ grant: both, args: { to: "x", force: false } })), "allow open");
  });
  it("reads paths canonically", () => {
    const paths = grant(undefined, [{ tool: "mail__send", paths: { file: ["secret/**"] } }]);
    for (const file of ["secret/a", "./secret/a", "x/../secret/a", "../a"]) {
      assert.equal(told(input({ grant: paths, args: { file } })), "guard_refused forbid[0]", file);
    }
    assert.equal(told(input({ grant: paths, args: { file: "public/a" } })), "allow open");
  });
});

describe("properties", () => {
  // A small seeded generator keeps the cases the same on every run.
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const pick = <T>(list: readonly T[]): T => list[next(list.length)]!;
  const values = ["a", "b", "a,b", "../a", "", null, 5, true, [], ["a", "b"], { a: "a" }, "a\nb", "**"] as const;
  const patterns = ["*", "**", "a", "a*", "{a,b}", "${{v}}", "${{w}}", "a/**", "?"];
  const randomEntry = (): PolicyEntry => {
    const tool = pick(["*", "mail__send", "mail__*", "*__s*", "other__x"]);
    if (next(3) === 0) return tool;
    const where = pick(["args", "paths"] as const);
    return { tool, [where]: { [pick(["to", "a.b", "__proto__"])]: [pick(patterns)] }, onlyArgs: next(4) === 0 };
  };
  const randomArgs = () =>
    JSON.parse(JSON.stringify({ to: pick(values), ...(next(2) ? { a: { b: pick(values) } } : {}) }));

  it("hold: deterministic, total, and a further denial never allows more", () => {
    for (let round = 0; round < 3000; round += 1) {
      const allow = next(4) === 0 ? undefined : [randomEntry(), randomEntry()];
      const forbid = next(2) ? [] : [randomEntry()];
      const base = { args: randomArgs(), variables: { v: pick(["a", "*", "", "**"]) } };
      const first = decide(input({ ...base, grant: grant(allow, forbid) }));
      assert.deepEqual(decide(input({ ...base, grant: grant(allow, forbid) })), first);
      const more = decide(input({ ...base, grant: grant(allow, [...forbid, randomEntry()]) }));
      if (first.kind === "refuse") assert.equal(more.kind, "refuse");
    }
  });

  it("hold: a variable's value never widens a guard", () => {
    for (let round = 0; round < 1000; round += 1) {
      const value = Array.from({ length: 1 + next(4) }, () =>
        pick(["*", "?", "{", "}", ",", "\\", "a", "$", "/"]),
      ).join("");
      const own = grant([{ tool: "mail__send", args: { to: ["x${{v}}y"] } }]);
      const to = `x${Array.from({ length: next(5) }, () => pick(["a", "b", "*", ","])).join("")}y`;
      const decision = decide(input({ grant: own, args: { to }, variables: { v: value } }));
      assert.equal(decision.kind === "allow", to === `x${value}y`);
    }
  });
});
