import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import type { ApiCaller } from "../server/api/caller.ts";
import { pageFrom } from "../server/api/pagination.ts";
import { defineRoute } from "../server/api/route.ts";
import {
  type ApiDocument,
  apiDocument,
  apiWithSession,
  apiWithToken,
  signedInMember,
  tokenWith,
} from "./fixtures/api-client.ts";
import { createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";

let product: Product;
let admin: Visitor;
let member: Visitor;
before(async () => {
  product = await startProduct({ files: { "organizations/other/connections/.keep": "" } });
  admin = await signedInAdmin(product);
  member = await signedInMember(product);
});
after(() => product[Symbol.asyncDispose]());

const NOBODY: ApiCaller = {
  via: "session",
  kind: "person",
  id: "",
  organizationId: "",
  organizationSlug: "",
  issuer: "",
  subject: "",
  name: "",
  key: "",
  role: undefined,
  permissions: new Set(),
};

const origin = () => new URL(product.url).origin;

/** What express serves under `/api`, as `get /api/me`. */
function served(): string[] {
  const layers = z
    .array(z.object({ route: z.object({ path: z.string(), methods: z.record(z.string(), z.boolean()) }).optional() }))
    .parse(Reflect.get(product.app.express.router, "stack"));
  return layers.flatMap(({ route }) => {
    if (!route?.path.startsWith("/api")) return [];
    return Object.keys(route.methods)
      .filter((method) => method !== "_all")
      .map((method) => `${method} ${route.path.replace(/:([a-zA-Z]+)/g, "{$1}")}`);
  });
}

function described({ paths }: ApiDocument): string[] {
  return Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`));
}

test("every route under /api is in the document, and nothing else is", async () => {
  const document = await apiDocument(product);
  assert.equal(document.openapi, "3.1.0");
  const routes = served().filter((route) => route !== "get /api/openapi.json");
  assert.ok(routes.length > 1);
  assert.deepEqual(described(document).sort(), routes.sort());
});

test("the document is one: its references lead somewhere, and no two operations share an id", async () => {
  const document = await apiDocument(product);
  const text = JSON.stringify(document);
  for (const [, pointer = ""] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer
      .split("/")
      .reduce<unknown>(
        (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
        document,
      );
    assert.equal(typeof target, "object", pointer);
  }
  const ids = Object.values(document.paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
  assert.equal(new Set(ids).size, ids.length);
  assert.doesNotMatch(text, /\$defs/);
});

test("a person at a browser and a token with the permission get the same answer", async () => {
  const token = await tokenWith(product, "connections:read");
  const bySession = await (await apiWithSession(product, admin)).expect(200, "GET", "/health");
  const byToken = await (await apiWithToken(product, token)).expect(200, "GET", "/health");
  assert.deepEqual(bySession.body, byToken.body);
});

test("who calls is told: role and permissions of a person, permissions of a token", async () => {
  const asAdmin = await (await apiWithSession(product, admin)).expect(200, "GET", "/me");
  assert.equal(asAdmin.at("role"), "admin");
  const asMember = await (await apiWithSession(product, member)).expect(200, "GET", "/me");
  assert.deepEqual(asMember.at("permissions"), ["tools:use"]);
  const asToken = await (await apiWithToken(product, await tokenWith(product, "audit:read"))).expect(200, "GET", "/me");
  assert.deepEqual(
    [asToken.at("kind"), asToken.at("permissions"), asToken.at("csrf")],
    ["agent", ["audit:read"], null],
  );
});

test("without the permission the answer is 403, written down as refused", async () => {
  for (const api of [
    await apiWithSession(product, member),
    await apiWithToken(product, await tokenWith(product, "audit:read")),
  ]) {
    const answer = await api.expect(403, "GET", "/health");
    assert.equal(answer.at("error", "code"), "permission_missing");
    assert.match(String(answer.at("error", "message")), /connections:read/);
  }
  await product.app.audit.flush();
  const rows = (await product.app.audit.tail()).filter(({ door, rule }) => door === "api" && rule === "getHealth");
  assert.deepEqual(rows.map(({ principalKind, outcome }) => [principalKind, outcome]).sort(), [
    ["agent", "refused"],
    ["person", "refused"],
  ]);
});

test("nobody, a wrong token and a token of the authorization server's form are 401 with a challenge", async () => {
  const none = await fetch(`${origin()}/api/me`);
  assert.equal(none.status, 401);
  assert.match(none.headers.get("www-authenticate") ?? "", /^Bearer /);
  for (const token of ["x", `jkf_agt_${"A".repeat(43)}_000000`, `jkf_oat_${"A".repeat(43)}_000000`]) {
    const answer = await (await apiWithToken(product, token)).expect(401, "GET", "/me");
    assert.equal(answer.at("error", "code"), "token_invalid");
    assert.match(answer.headers.get("www-authenticate") ?? "", /invalid_token/);
  }
});

test("a cookie is worth nothing with a wrong token beside it", async () => {
  const cookie = [...admin.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const answer = await fetch(`${origin()}/api/me`, { headers: { cookie, authorization: "Bearer x" } });
  assert.equal(answer.status, 401);
});

test("a session that another site uses is refused", async () => {
  const answer = await admin.get("/api/me", { "sec-fetch-site": "cross-site" });
  assert.equal(answer.status, 403);
  assert.match(answer.text, /csrf_refused/);
});

test("an organization that is not the caller's is not found", async () => {
  const bySession = await (await apiWithSession(product, admin)).expect(404, "GET", "/me?organization=other");
  assert.equal(bySession.at("error", "code"), "not_found");
  const token = await tokenWith(product, "connections:read");
  await (await apiWithToken(product, token)).expect(404, "GET", "/health?organization=other");
});

test("an unknown path is 404 and an unknown method 405, in the form of the API", async () => {
  const api = await apiWithSession(product, admin);
  assert.equal((await api.expect(404, "GET", "/nothing")).at("error", "code"), "not_found");
  const answer = await api.expect(405, "DELETE", "/me");
  assert.equal(answer.headers.get("allow"), "GET");
});

test("an unknown name in the query is named in the answer", async () => {
  const answer = await (await apiWithSession(product, admin)).expect(400, "GET", "/me?colour=red");
  assert.deepEqual(answer.at("error", "problems"), [{ field: "query.colour", message: "is not known here" }]);
});

test("a visitor without an account gets the error of the API, no page", async () => {
  const answer = await createVisitor(origin()).get("/api/me");
  assert.equal(answer.status, 401);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
});

test("every problem of an input is told at once, by its place", () => {
  const route = defineRoute({
    method: "put",
    path: "/things/:id",
    id: "putThing",
    summary: "Put a thing",
    permission: "member",
    params: z.object({ id: z.ulid() }),
    body: z.strictObject({ name: z.string(), size: z.object({ width: z.number() }) }),
    handle: async () => undefined,
  });
  const raw = { params: { id: "x" }, query: {}, body: { size: { width: "wide" }, more: 1 } };
  assert.throws(
    () => route.prepare(raw, NOBODY),
    (error: unknown) => {
      const { problems } = z
        .object({ problems: z.array(z.object({ field: z.string() })) })
        .parse(error instanceof Error && "data" in error && error.data);
      assert.deepEqual(
        problems.map(({ field }) => field),
        ["path.id", "body.name", "body.size.width", "body.more"],
      );
      return true;
    },
  );
});

test("an answer holds what its schema names and nothing else", async () => {
  const route = defineRoute({
    method: "get",
    path: "/things",
    id: "getThing",
    summary: "Get a thing",
    permission: "member",
    response: z.object({ name: z.string() }),
    handle: async () => Object.assign({ name: "a" }, { hash: "secret" }),
  });
  assert.deepEqual(await route.prepare({ params: {}, query: {}, body: undefined }, NOBODY)(), { name: "a" });
});

test("a page says where the next one begins, and the last one that it is the last", () => {
  const rows = ["a", "b", "c"];
  const first = pageFrom(rows, 2, (row) => row);
  assert.deepEqual(first.items, ["a", "b"]);
  assert.equal(Buffer.from(first.nextCursor ?? "", "base64url").toString(), "b");
  assert.deepEqual(
    pageFrom(["c"], 2, (row) => row),
    { items: ["c"], nextCursor: null },
  );
});
