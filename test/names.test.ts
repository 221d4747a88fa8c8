import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assignNames, foldName, MAX_NAME, NAME_PATTERN, SLUG_PATTERN } from "../server/gateway/names.ts";

const ODD: { connection: string; names: string[] }[] = JSON.parse(
  readFileSync(new URL("fixtures/odd-tool-names.json", import.meta.url), "utf8"),
);

/** The one name of a connection with one tool. */
function nameOf(slug: string, upstreamName: string): string | undefined {
  return assignNames(slug, [upstreamName]).get(upstreamName);
}

test("a legal name stays as it is, and other spellings become readable", () => {
  assert.equal(nameOf("github", "create_issue"), "github__create_issue");
  assert.equal(nameOf("slack", "find-user-by-id"), "slack__find-user-by-id");
  assert.equal(nameOf("npm", "npmPackageReadme"), "npm__npm_package_readme");
  assert.equal(nameOf("net", "getUserByID"), "net__get_user_by_id");
  assert.equal(nameOf("shop", "Create Customer"), "shop__create_customer");
  assert.equal(nameOf("api", "v1.users/list"), "api__v1_users_list");
  assert.equal(nameOf("cafe", "ménü"), "cafe__menu");
});

test("a name that is too long, or of which nothing legal is left, ends in a hash", () => {
  const long = nameOf("zscaler-mcp-server", "zms_get_agent_connection_status_statistics") ?? "";
  assert.equal(long.length, MAX_NAME);
  assert.match(long, /^zscaler-mcp-server__zms_get_agent_[a-z_]*_[a-z0-9]{6}$/);
  assert.match(nameOf("bing", "必应搜索") ?? "", /^bing__tool_[a-z0-9]{6}$/);
  assert.notEqual(nameOf("bing", "必应搜索"), nameOf("bing", "必应"));
});

test("names that differ only by - and _ or by case do not become the same", () => {
  const names = assignNames("a", ["get_user", "get-user", "getUser", "get.user"]);
  const folded = new Set([...names.values()].map(foldName));
  assert.equal(folded.size, 4);
});

test("of several spellings, the one that is its public name gets it", () => {
  const names = assignNames("a", ["getUser", "get_user", "GetUser"]);
  assert.equal(names.get("get_user"), "a__get_user");
  assert.match(names.get("getUser") ?? "", /^a__get_user_[a-z0-9]{6}$/);
  assert.match(names.get("GetUser") ?? "", /^a__get_user_[a-z0-9]{6}$/);
});

test("what was given out stays, whatever comes later", () => {
  const first = assignNames("a", ["getUser"]);
  assert.equal(first.get("getUser"), "a__get_user");
  const second = assignNames("a", ["get_user", "getUser"], first);
  assert.equal(second.get("getUser"), "a__get_user");
  assert.match(second.get("get_user") ?? "", /^a__get_user_[a-z0-9]{6}$/);
});

test("the order in which the upstream lists its tools does not matter", () => {
  const names = ["b c", "b_c", "bC", "b.c", "é", "ü", "x".repeat(60), `${"x".repeat(60)}y`];
  const forward = assignNames("a", names);
  const backward = assignNames("a", names.toReversed());
  for (const name of names) assert.equal(forward.get(name), backward.get(name));
});

test("odd names of real services are legal and unique over all connections", () => {
  const all = new Set<string>();
  let count = 0;
  for (const { connection, names } of ODD) {
    for (const name of assignNames(connection, names).values()) {
      assert.match(name, NAME_PATTERN);
      assert.ok(name.length <= MAX_NAME, name);
      all.add(foldName(name));
      count += 1;
    }
  }
  assert.equal(all.size, count);
});

test("thousands of generated names are legal, unique when folded, short, and stable while tools come and go", () => {
  const random = generator(20_260_728);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const parts = [
    "get",
    "Get",
    "user",
    "USER",
    "-",
    "_",
    "__",
    ".",
    " ",
    "/",
    "é",
    "搜索",
    "\u200b",
    "0",
    "id",
    "list",
    "",
  ];
  const slugs = ["a", "a-b", "ab", "a-b-c", "z".repeat(24), "get-user"];
  const folded = new Set<string>();
  let count = 0;
  for (const slug of slugs) {
    assert.match(slug, SLUG_PATTERN);
    let existing = new Map<string, string>();
    for (let round = 0; round < 8; round += 1) {
      const names = new Set<string>();
      while (names.size < 120) {
        names.add(Array.from({ length: 1 + Math.floor(random() * 12) }, () => pick(parts)).join(""));
      }
      names.delete("");
      const assigned = assignNames(slug, [...names], existing);
      for (const [upstreamName, name] of existing) {
        if (assigned.has(upstreamName)) assert.equal(assigned.get(upstreamName), name);
      }
      existing = new Map([...existing, ...assigned]);
    }
    for (const name of existing.values()) {
      assert.match(name, NAME_PATTERN);
      assert.ok(name.length <= MAX_NAME, name);
      assert.ok(name.startsWith(`${slug}__`), name);
      folded.add(foldName(name));
      count += 1;
    }
  }
  assert.ok(count > 3000);
  assert.equal(folded.size, count);
});

test("slugs are short, start with a letter and hold single hyphens only", () => {
  for (const good of ["a", "github", "ap-amazon-s3", "x".repeat(24)]) assert.match(good, SLUG_PATTERN);
  for (const bad of ["", "A", "1a", "a_b", "a--b", "a-", "-a", "x".repeat(25), "a\n"])
    assert.doesNotMatch(bad, SLUG_PATTERN);
});

/** Mulberry32: the same numbers on every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
