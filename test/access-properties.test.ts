/** What holds of decisions whatever goes in. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type DecisionInput, decide } from "../server/access/decide.ts";
import { checkGuards, compileGuards } from "../server/access/guards.ts";
import { compilePolicy, grantOf, type PolicyEntry } from "../server/access/policy.ts";

/** Texts in which what matters to patterns is frequent. */
const telling = fc.string({ unit: fc.constantFrom(..."ab*?{}\\,;/.$@-\n\u2028é"), maxLength: 12 });
const text = fc.oneof(telling, fc.string({ maxLength: 12 }));
const key = fc.constantFrom("to", "cc", "a.b", "a", "b", "__proto__", "constructor");
const value = fc.jsonValue({ maxDepth: 3 });
const args = fc.dictionary(key, fc.oneof(text, value), { maxKeys: 4, noNullPrototype: true });
const pattern = fc.oneof(
  fc.constantFrom(
    "*",
    "**",
    "a*",
    "*b",
    "{a,b}*",
    "a?",
    "ab",
    "*@*",
    "$" + "{{x}}",
    "$" + "{{x}}/*",
    "a" + "$" + "{{x}}*",
  ),
  telling.map((given) => given.replace(/[\\{}$]/g, "a")),
);
const patterns = fc.oneof(
  fc.array(pattern, { minLength: 1, maxLength: 3 }),
  fc.record({ match: fc.array(pattern, { minLength: 1, maxLength: 3 }), optional: fc.boolean() }),
);
const guards = fc.dictionary(key, patterns, { maxKeys: 3, noNullPrototype: true });
const entry: fc.Arbitrary<PolicyEntry> = fc.oneof(
  fc.constantFrom("*", "mail__*", "mail__send", "*__send", "crm__*"),
  fc.record({ tool: fc.constantFrom("mail__send", "mail__*", "*__send"), args: guards, onlyArgs: fc.boolean() }),
);
const variables = fc.dictionary(fc.constantFrom("x", "y"), fc.oneof(text, value), { noNullPrototype: true });
const policies = fc.record({
  allow: fc.option(fc.array(entry, { maxLength: 4 }), { nil: undefined }),
  forbid: fc.array(entry, { maxLength: 3 }),
});
const rest = fc.record({
  class: fc.constantFrom("read" as const, "write" as const, undefined),
  state: fc.constantFrom("approved" as const, "changed" as const, "pending" as const, "gone" as const),
  approval: fc.constantFrom("none" as const, "required" as const),
  scopes: fc.subarray(["mcp:read", "mcp:write", "mcp:pair"]).map((list) => new Set(list)),
  door: fc.constantFrom("by_name" as const, "tool_read" as const, "tool_write" as const, "try" as const),
});

const TOOL = { name: "mail__send", connectionSlug: "mail", action: "send" };

function decision(
  policy: { allow?: readonly PolicyEntry[] | undefined; forbid: readonly PolicyEntry[] },
  given: Pick<DecisionInput, "args" | "variables">,
  { class: toolClass, state, approval, scopes, door }: typeof rest extends fc.Arbitrary<infer R> ? R : never,
) {
  const compiled = compilePolicy({
    ...policy,
    environmentForbid: [],
    connections: [{ slug: "mail" }, { slug: "crm" }],
  });
  const tool = { name: TOOL.name, action: TOOL.action, class: toolClass, state, approval };
  return decide({ tool, grant: grantOf(compiled, TOOL), ...given, scopes, door });
}

describe("decide()", () => {
  it("is total and deterministic: any arguments get one of three answers, and the same one again", () => {
    fc.assert(
      fc.property(policies, args, variables, rest, (policy, given, known, about) => {
        const first = decision(policy, { args: given, variables: known }, about);
        assert.ok(["allow", "refuse", "needs_approval"].includes(first.kind));
        assert.deepEqual(decision(policy, { args: structuredClone(given), variables: known }, about), first);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never allows more because something is forbidden", () => {
    fc.assert(
      fc.property(policies, entry, args, variables, rest, (policy, denial, given, known, about) => {
        const before = decision(policy, { args: given, variables: known }, about);
        const more = { ...policy, forbid: [...policy.forbid, denial] };
        const after = decision(more, { args: given, variables: known }, about);
        if (before.kind === "refuse") assert.equal(after.kind, "refuse");
        if (before.kind === "needs_approval") assert.notEqual(after.kind, "allow");
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a variable", () => {
  const check = (sources: string[], given: string, known: object) =>
    checkGuards(
      { guards: compileGuards({ to: sources }, { path: false, place: "args" }), onlyArgs: false },
      { to: given },
      { ...known },
    ) === undefined;
  const escaped = (known: string) => known.replace(/[\\*?{},$]/g, (character) => `\\${character}`);

  it("stands for its own text and for nothing else, whatever it holds", () => {
    const around = fc.constantFrom("", "a", "*@", "/", "{p,q}-");
    fc.assert(
      fc.property(text, around, around, text, (known, before, after, given) => {
        const taken = check([`${before}$\{{x}}${after}`], given, { x: known });
        // The same pattern with the value written literally in it; an empty value is as good as none.
        const literal = known !== "" && check([`${before}${escaped(known)}${after}`], given, {});
        assert.equal(taken, literal);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never lets a text pass that differs from it where the pattern is the variable alone", () => {
    fc.assert(
      fc.property(text, text, (known, given) => {
        assert.equal(check(["$" + "{{x}}"], given, { x: known }), known !== "" && known === given);
      }),
      { numRuns: 2_000 },
    );
  });
});
