import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, apiWithSession, apiWithToken, signedInMember, tokenWith } from "./fixtures/api-client.ts";
import { createVisitor, signedInAdmin } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

let product: Product;
let admin: Api;
let member: Api;
before(async () => {
  product = await startProduct({
    connections: {
      notes: { type: "mcp", url: "http://127.0.0.1:9/mcp", access: { read: { tools: ["*"] } } },
      mine: { type: "mcp", url: "http://127.0.0.1:9/mine", subject: "user", auth: { method: "oauth" } },
    },
  });
  admin = await apiWithSession(product, await signedInAdmin(product));
  member = await apiWithSession(product, await signedInMember(product));
});
after(() => product[Symbol.asyncDispose]());

const itemsOf = async (api: Api, path: string) =>
  (await api.expect(200, "GET", path)).at("items") as Record<string, unknown>[];

const SERVICE = { type: "mcp", url: "https://service.example/mcp", access: { read: { tools: ["get_*"] } } };

test("a connection is made, shown, changed on condition of its revision, and deleted", async () => {
  const made = await admin.expect(201, "POST", "/connections", { slug: "service", words: SERVICE });
  const [id, revision] = [String(made.at("id")), String(made.at("revision"))];
  assert.equal(made.at("state"), "served");
  await product.app.registry.reload();
  const shown = await admin.expect(200, "GET", `/connections/${id}`);
  assert.deepEqual([shown.at("origin"), shown.at("words", "url")], ["web", SERVICE.url]);
  const words = { ...SERVICE, label: "The service" };
  const changed = await admin.expect(200, "PUT", `/connections/${id}`, { words, revision });
  assert.notEqual(changed.at("revision"), revision);
  const late = { words: { ...SERVICE, label: "Another" }, revision };
  assert.equal((await admin.expect(409, "PUT", `/connections/${id}`, late)).at("error", "code"), "edit_conflict");
  await admin.expect(200, "DELETE", `/connections/${id}`);
  await product.app.registry.reload();
  await admin.expect(404, "GET", `/connections/${id}`);
});

test("nothing that starts a process, reads a variable or is a secret can be entered", async () => {
  for (const [words, field] of [
    [{ type: "mcp", command: ["sh", "-c", "id"] }, "body.words.command"],
    [{ ...SERVICE, env: { A: "b" } }, "body.words.env"],
    [{ ...SERVICE, auth: { method: "bearer", secret: `${"$"}{env:HOME}` } }, "body.words.auth.secret"],
    [{ ...SERVICE, headers: { Authorization: "Bearer abc" } }, "body.words.headers.Authorization"],
  ] as const) {
    const answer = await admin.expect(400, "POST", "/connections", { slug: "evil", words });
    const problems = answer.at("error", "problems") as { field: string }[];
    assert.ok(
      problems.some((problem) => problem.field === field),
      JSON.stringify(problems),
    );
  }
  assert.ok((await itemsOf(admin, "/connections")).every(({ slug }) => slug !== "evil"));
});

test("what a file declares is shown and changed in the file only", async () => {
  const notes = (await itemsOf(admin, "/connections")).find(({ slug }) => slug === "notes");
  const answer = await admin.expect(409, "PUT", `/connections/${notes?.["id"]}`, { words: SERVICE });
  assert.equal(answer.at("error", "code"), "declared_in_file");
  const tested = await admin.expect(200, "POST", `/connections/${notes?.["id"]}/test`);
  assert.equal(tested.at("state"), "unhealthy");
});

test("connections and credentials are for those with the permission, each for itself", async () => {
  await member.expect(403, "GET", "/connections");
  await member.expect(403, "PUT", "/credentials/notes", { values: { secret: "x" } });
  const reader = await apiWithToken(product, await tokenWith(product, "connections:read"));
  assert.ok((await itemsOf(reader, "/connections")).length >= 2);
  await reader.expect(403, "POST", "/connections", { slug: "service", words: SERVICE });
  await reader.expect(403, "DELETE", "/credentials/notes");
});

test("a credential goes in, is listed without its value, and is deleted", async () => {
  const secret = "a-secret-that-nobody-reads-again";
  const set = await admin.expect(200, "PUT", "/credentials/store", { values: { secret } });
  assert.deepEqual([set.at("kind"), set.at("fields", 0)], ["secret", "secret"]);
  const listed = await admin.expect(200, "GET", "/credentials");
  assert.ok(!JSON.stringify([set.body, listed.body]).includes(secret));
  const mixed = await admin.expect(400, "PUT", "/credentials/store", { values: { client_id: "x" } });
  assert.equal(mixed.at("error", "code"), "invalid_credential");
  await admin.expect(204, "DELETE", "/credentials/store");
  await admin.expect(404, "DELETE", "/credentials/store");
  await product.app.audit.flush();
  assert.ok(!JSON.stringify(await product.app.audit.tail({ limit: 200 })).includes(secret));
});

test("members are listed, invited, changed and removed; a member sees none of it", async () => {
  for (const path of ["/members", "/invitations"]) await member.expect(403, "GET", path);
  const made = await admin.expect(201, "POST", "/invitations", { role: "member", name: "Nia", groups: ["support"] });
  const [, path = ""] = /^https?:\/\/[^/]+(\/invite\/.+)$/.exec(String(made.at("url"))) ?? [];
  const visitor = createVisitor(new URL(product.url).origin);
  await visitor.get(path);
  const joined = await visitor.post(path, { name: "Nia", username: "nia", password: "three slow glaciers" });
  assert.equal(joined.status, 303, joined.text);
  const found = (await itemsOf(admin, "/members")).find(({ username }) => username === "nia");
  assert.deepEqual(found?.["groups"], [{ name: "support", source: "" }]);
  const id = String(found?.["id"]);
  const changed = await admin.expect(200, "PATCH", `/members/${id}`, { role: "admin", groups: [] });
  assert.deepEqual([changed.at("role"), changed.at("groups")], ["admin", []]);
  const nia = await apiWithSession(product, visitor);
  const token = await nia.expect(201, "POST", "/tokens", { name: "own", endpoints: ["default"] });
  const removed = await admin.expect(200, "DELETE", `/members/${id}`);
  assert.deepEqual([removed.at("sessions"), removed.at("tokens")], [1, 1]);
  await nia.expect(401, "GET", "/me");
  await (await apiWithToken(product, String(token.at("secret")))).expect(401, "GET", "/me");
  const dana = (await itemsOf(admin, "/members")).find(({ username }) => username === "dana");
  const last = await admin.expect(409, "PATCH", `/members/${dana?.["id"]}`, { role: "member" });
  assert.equal(last.at("error", "code"), "last_admin");
});

test("an invitation can be taken back", async () => {
  await admin.expect(201, "POST", "/invitations", {});
  const [open] = await itemsOf(admin, "/invitations");
  await admin.expect(204, "DELETE", `/invitations/${open?.["id"]}`);
  assert.deepEqual(await itemsOf(admin, "/invitations"), []);
});

test("a member lists where they may sign in themselves, and there is nothing to disconnect before", async () => {
  const [own, ...others] = await itemsOf(member, "/accounts");
  assert.deepEqual([own?.["slug"], own?.["connected"], others.length], ["mine", false, 0]);
  await member.expect(404, "DELETE", `/accounts/${own?.["connection"]}`);
});

test("lists come page by page, each item once", async () => {
  const seen: unknown[] = [];
  let cursor = "";
  do {
    const page = await admin.expect(200, "GET", `/connections?limit=1${cursor && `&cursor=${cursor}`}`);
    seen.push(...(page.at("items") as { slug: string }[]).map(({ slug }) => slug));
    cursor = String(page.at("nextCursor") ?? "");
  } while (cursor !== "");
  assert.deepEqual(seen.sort(), ["mine", "notes"]);
  await admin.expect(400, "GET", "/connections?cursor=%2B%2B");
});

test("a body that is too large, no JSON, or sent without the session's token changes nothing", async () => {
  assert.equal((await admin.call("POST", "/invitations", { name: "x".repeat(70_000) })).status, 413);
  assert.equal((await admin.call("POST", "/invitations", "{")).status, 400);
  assert.equal((await admin.call("POST", "/invitations", {}, { "x-csrf-token": "wrong" })).status, 403);
  assert.equal((await admin.call("POST", "/invitations", {}, { "sec-fetch-site": "cross-site" })).status, 403);
  assert.deepEqual(await itemsOf(admin, "/invitations"), []);
});
