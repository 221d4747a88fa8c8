/** Classes and grants: which tools exist for whom, before any argument is known. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AccessRules, approvalOf, classify } from "../server/access/classes.ts";
import { compilePolicy, grantOf, type PolicyEntry, type PolicySource } from "../server/access/policy.ts";

const rules = (change: Partial<AccessRules> = {}): AccessRules => ({
  read: [],
  write: [],
  approval: { tools: {} },
  disable: [],
  resources: [],
  prompts: [],
  suggested: false,
  ...change,
});

describe("classes", () => {
  it("come from patterns over upstream names, and write wins", () => {
    const access = rules({ read: ["get_*", "*_issue"], write: ["create_*"] });
    assert.equal(classify("get_issue", access), "read");
    assert.equal(classify("create_issue", access), "write");
    assert.equal(classify("drop_table", access), undefined);
  });
  it("are hidden by disable and narrowed by expose", () => {
    const access = rules({ read: ["*"], disable: ["get_secret"], expose: ["get_*"] });
    assert.deepEqual(
      ["get_issue", "get_secret", "list_issues"].map((name) => classify(name, access)),
      ["read", undefined, undefined],
    );
  });
  it("hold no writes in a read-only connection", () => {
    const access = rules({ read: ["*"], write: ["create_*"], preset: "read-only" });
    assert.deepEqual(
      ["create_issue", "get_issue"].map((name) => classify(name, access)),
      [undefined, "read"],
    );
  });
  it("take a name of any characters", () =>
    assert.equal(classify("Find, then; delete\n", rules({ write: ["*"] })), "write"));
  it("follow annotations only where the author said so, and never above the patterns", () => {
    const suggested = rules({ suggested: true, write: ["get_*"] });
    assert.equal(classify("look", suggested, { readOnlyHint: true }), "read");
    assert.equal(classify("look", suggested, {}), "write");
    assert.equal(classify("look", suggested, { readOnlyHint: "true" }), "write");
    assert.equal(classify("get_x", suggested, { readOnlyHint: true }), "write");
    assert.equal(classify("look", rules(), { readOnlyHint: true }), undefined);
  });
  it("ask for approval by class, by tool, and never below a preset", () => {
    const access = rules({
      write: ["*"],
      approval: { write: "always", tools: { create_comment: "never", "read_*": "always" } },
    });
    assert.equal(approvalOf("create_issue", "write", access), "required");
    assert.equal(approvalOf("create_comment", "write", access), "none");
    assert.equal(approvalOf("read_mail", "read", access), "required");
    assert.equal(approvalOf("list", "read", access), "none");
    const floor = rules({ preset: "approval-required", approval: { tools: { "*": "never" } } });
    assert.equal(approvalOf("create_comment", "write", floor), "required");
  });
  it("let the stricter of two patterns decide, and the tool's own name above both", () => {
    const access = rules({ approval: { tools: { "a*": "never", "*b": "always", acb: "never" } } });
    assert.equal(approvalOf("ab", "write", access), "required");
    assert.equal(approvalOf("acb", "write", access), "none");
  });
});

const connections = [
  { slug: "tracker", collection: "jira" },
  { slug: "outlook", collection: "outlook" },
  { slug: "outlook-support", collection: "outlook" },
  { slug: "files" },
];

function outcome(tool: string, policy: Partial<PolicySource>, action?: string): string {
  const connectionSlug = tool.slice(0, tool.indexOf("__"));
  const compiled = compilePolicy({ forbid: [], environmentForbid: [], connections, ...policy });
  const grant = grantOf(compiled, {
    name: tool,
    connectionSlug,
    action: action ?? tool.slice(connectionSlug.length + 2),
  });
  if (grant === undefined) return "none";
  if ("denied" in grant) return `denied ${grant.denied}`;
  if ("unbound" in grant) return "unbound";
  return grant.rules.map(({ rule }) => rule).join(" ");
}

describe("grants", () => {
  const cases: [string, string, PolicyEntry[] | undefined, string][] = [
    ["without a list every tool is granted", "files__write", undefined, "open"],
    ["an empty list grants nothing", "files__write", [], "none"],
    ["a name grants itself", "files__write", ["files__write"], "allow[0]"],
    ["a name grants nothing else", "files__read", ["files__write"], "none"],
    ["a pattern of an action", "files__read", ["files__{read,list}"], "allow[0]"],
    ["a pattern of the connection", "tracker__search_x", ["*__search_*"], "allow[0]"],
    ["everything", "tracker__x", ["*"], "allow[0]"],
    ["a collection with one connection", "tracker__get", ["jira__get"], "allow[0]"],
    ["a connection by its slug", "tracker__get", ["tracker__get"], "allow[0]"],
    ["a collection with several binds to none", "outlook-support__send", ["outlook__send"], "unbound"],
    ["even to the one whose slug it is", "outlook__send", ["outlook__send"], "unbound"],
    [
      "a named connection of the collection",
      "outlook-support__send",
      [{ tool: "outlook__send", connection: "outlook-support" }],
      "allow[0]",
    ],
    ["and no other one", "outlook__send", [{ tool: "outlook__send", connection: "outlook-support" }], "none"],
    [
      "a connection outside the collection",
      "outlook__send",
      [{ tool: "outlook__send", connection: "files" }],
      "unbound",
    ],
    ["an action of a named connection", "files__read", [{ tool: "read", connection: "files" }], "allow[0]"],
    ["two entries are alternatives", "files__read", ["files__*", "*__read"], "allow[0] allow[1]"],
    ["a bound entry beats an unbound one", "outlook__send", ["outlook__send", "outlook{,-x}__send"], "allow[1]"],
  ];
  for (const [title, tool, allow, expected] of cases) {
    it(title, () => assert.equal(outcome(tool, { allow }), expected));
  }
  it("accept the upstream's own name of an action", () => {
    assert.equal(outcome("files__find-orders", { allow: ["files__Find Orders"] }, "Find Orders"), "allow[0]");
  });
});

describe("denials", () => {
  const cases: [string, string, PolicyEntry, string][] = [
    ["everything", "files__x", "*", "denied forbid[0]"],
    ["by pattern", "files__delete_x", "*__delete_*", "denied forbid[0]"],
    ["leaves the rest", "files__read", "*__delete_*", "open"],
    ["a whole collection, though it binds to none", "outlook-support__send", "outlook__send", "denied forbid[0]"],
    ["one connection of it", "outlook__send", { tool: "outlook__send", connection: "outlook-support" }, "open"],
    ["by a connection's slug", "tracker__get", "tracker__get", "denied forbid[0]"],
    ["by its collection", "tracker__get", "jira__*", "denied forbid[0]"],
    ["by a collection inside alternatives", "tracker__get", "{jira__get,x__y}", "denied forbid[0]"],
  ];
  for (const [title, tool, entry, expected] of cases) {
    it(title, () => assert.equal(outcome(tool, { forbid: [entry] }), expected));
  }
  it("beat every grant, and the environment's come first", () => {
    const policy = { allow: ["files__read"], forbid: ["*"], environmentForbid: ["files__*"] };
    assert.equal(outcome("files__read", policy), "denied environment.forbid[0]");
  });
  it("catch the upstream's own name where the public one was cut", () => {
    assert.equal(outcome("files__x-a1b2c3", { forbid: ["files__delete*"] }, "deleteEverything"), "denied forbid[0]");
  });
});

describe("a policy", () => {
  it("names entries that can never apply", () => {
    const { problems } = compilePolicy({
      allow: ["outlook__send", { tool: "jira__get", connection: "files" }],
      forbid: [{ tool: "outlook__x", connection: "tracker" }],
      environmentForbid: [],
      connections,
    });
    assert.deepEqual(
      problems.map(({ rule }) => rule),
      ["allow[0]", "allow[1]", "forbid[0]"],
    );
    assert.match(problems[0]?.reason ?? "", /outlook, outlook-support/);
  });
  it("with a pattern that cannot be read names its place", () => {
    const source = { forbid: ["a__{"], environmentForbid: [], connections };
    assert.throws(() => compilePolicy(source), /forbid\[0\]/);
  });
});
