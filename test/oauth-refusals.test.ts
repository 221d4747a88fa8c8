import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { settingsOf } from "../server/oauth/settings.ts";
import { signedInMember } from "./fixtures/api-client.ts";
import { authorizePath, CALLBACK, pkce, publicClient, register, signInClient } from "./fixtures/oauth-client.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

let product: Product;
let admin: Visitor;
let member: Visitor;
before(async () => {
  product = await startProduct({
    endpoints: { support: { label: "Support" } },
    connections: { mine: { type: "mcp", url: "http://127.0.0.1:9/mcp", subject: "user", auth: { method: "oauth" } } },
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
  });
  admin = await signedInAdmin(product);
  member = await signedInMember(product);
});
after(() => product[Symbol.asyncDispose]());

async function noted(rule: string) {
  await product.app.audit.flush();
  return (await product.app.audit.tail({ limit: 200 })).filter((row) => row.rule === rule);
}

test("a client asks with its person's access token how a connection stands, until the grant ends", async () => {
  const { tokens } = await signInClient(product, admin);
  const ask = async () => {
    const url = new URL("/connections/authorize?connection=mine", product.url);
    const response = await fetch(url, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    return { status: response.status, text: await response.text() };
  };
  const asked = await ask();
  assert.equal(asked.status, 200, asked.text);
  assert.match(asked.text, /"status":"authorize"/);
  const organizationId = product.app.registry.endpoint(undefined, undefined)?.endpoint.organizationId ?? "";
  for (const { grantKey } of await product.app.oauth.grants.list(organizationId)) {
    await product.app.oauth.grants.end(grantKey, "revoked");
  }
  assert.equal((await ask()).status, 401);
});

test("a token for another audience is refused and in the audit, with whose it is", async () => {
  const { tokens } = await signInClient(product, admin);
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await postModern(product.endpoint("support"), tokens.access_token, "tools/list")).status, 401);
  }
  assert.equal((await postModern(product.url, tokens.access_token, "tools/list")).status, 200);
  await product.app.oauth.close();
  const rows = await noted("foreign_audience");
  assert.deepEqual(
    rows.map(({ outcome, principalName, door }) => [outcome, principalName, door]),
    [["refused", "Dana Reyes", "oauth"]],
  );
});

test("another person's answer to a question gives nothing and is in the audit, with who sent it", async () => {
  const client_id = await publicClient(product);
  const path = authorizePath({ client_id, redirect_uri: CALLBACK, code_challenge: pkce().challenge });
  const question = (await admin.get(path)).location ?? "";
  await admin.get(question);
  // With a form token of their own: only the question is another's.
  await member.get("/sign-out");
  const sent = await member.post(question, { decision: "allow", scope: ["mcp:read"] });
  assert.equal(sent.status, 400);
  assert.equal(sent.location, null);
  const rows = await noted("foreign_answer");
  assert.deepEqual(
    rows.map(({ outcome, principalName }) => [outcome, principalName]),
    [["refused", "mira"]],
  );
  assert.equal((await admin.post(question, { decision: "allow", scope: ["mcp:read"] })).status, 303);
});

test("where registering needs the operator's token, one without it or with another is refused", async () => {
  const metadata = { client_name: "x", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" };
  process.env["REGISTRATION_TOKEN_OF_THE_TEST"] = "let-me-register-please";
  const file = `version: 1\noauth: { registration: token, registrationToken: "\${env:REGISTRATION_TOKEN_OF_THE_TEST}" }\n`;
  await using closed = await startProduct({ files: { "jackfield.yml": file } });
  delete process.env["REGISTRATION_TOKEN_OF_THE_TEST"];
  for (const headers of [{}, { authorization: "Bearer another" }, { authorization: "let-me-register-please" }]) {
    const { status, headers: answered, body } = await register(closed, metadata, headers);
    assert.deepEqual([status, body["error"]], [401, "invalid_token"]);
    assert.match(answered.get("www-authenticate") ?? "", /invalid_token/);
  }
  const made = await register(closed, metadata, { authorization: "Bearer let-me-register-please" });
  assert.equal(made.status, 201);
});

test("a registration token whose variable is not set lets nobody register; listed hosts of documents are the only ones", () => {
  const common = {
    redirects: "open",
    clientDocuments: "on",
    accessTokenMinutes: 60,
    refreshGraceSeconds: 120,
  } as const;
  const closed = settingsOf({ ...common, registration: "token", registrationToken: "NOT_SET" }, {});
  assert.equal(closed.registrationToken, undefined);
  const listed = settingsOf(
    { ...common, registration: "open", clientDocumentHosts: ["claude.ai", "*.example.com"] },
    {},
  );
  const hosts = ["claude.ai", "a.example.com", "example.com", "evilclaude.ai", "claude.ai.evil.test"];
  assert.deepEqual(hosts.map(listed.allowsDocumentHost), [true, true, false, false, false]);
  assert.ok(settingsOf({ ...common, registration: "open" }, {}).allowsDocumentHost("anything.test"));
});
