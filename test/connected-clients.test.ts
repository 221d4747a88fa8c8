import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Api, apiWithSession, apiWithToken, signedInMember, tokenWith } from "./fixtures/api-client.ts";
import { runToEnd } from "./fixtures/command.ts";
import { publicClient, signInClient } from "./fixtures/oauth-client.ts";
import { signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { postModern } from "./fixtures/raw.ts";

let product: Product;
let admin: Api;
let adminBrowser: Visitor;
let member: Api;
let memberBrowser: Visitor;
before(async () => {
  product = await startProduct({
    endpoints: { default: { label: "Default", principals: { roles: ["member"] } } },
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
  });
  adminBrowser = await signedInAdmin(product);
  memberBrowser = await signedInMember(product);
  [admin, member] = [await apiWithSession(product, adminBrowser), await apiWithSession(product, memberBrowser)];
});
after(() => product[Symbol.asyncDispose]());

const status = async (token: string) => (await postModern(product.url, token, "tools/list")).status;
const items = async (api: Api, path = "/clients") =>
  (await api.expect(200, "GET", path)).at("items") as { id: string; clientId: string; person: { username: string } }[];

test("a person sees and disconnects their own client; its next call is 401, and its refresh token is dead", async () => {
  const client = await signInClient(product, memberBrowser);
  assert.equal(await status(client.tokens.access_token), 200);
  const own = (await items(member)).find(({ clientId }) => clientId === client.clientId);
  assert.equal(own?.person.username, "mira");
  await member.expect(204, "DELETE", `/clients/${own?.id}`);
  assert.equal(await status(client.tokens.access_token), 401);
  assert.equal((await client.refresh()).body.error, "invalid_grant");
  await member.expect(404, "DELETE", `/clients/${own?.id}`);
});

test("a member sees and ends no other person's client, an admin does", async () => {
  const client = await signInClient(product, adminBrowser);
  const found = (await items(admin)).find(({ clientId }) => clientId === client.clientId);
  assert.ok(found);
  assert.ok((await items(member)).every(({ person }) => person.username === "mira"));
  await member.expect(404, "DELETE", `/clients/${found.id}`);
  await member.expect(403, "GET", "/registrations");
  assert.equal(await status(client.tokens.access_token), 200);
  const own = await items(admin, "/clients?own=true");
  assert.ok(own.every(({ person }) => person.username === "dana"));
  await admin.expect(204, "DELETE", `/clients/${found.id}`);
  assert.equal(await status(client.tokens.access_token), 401);
});

test("an admin ends a client for everybody, by a token of an agent, too", async () => {
  const clientId = await publicClient(product);
  const clients = [
    await signInClient(product, adminBrowser, { clientId }),
    await signInClient(product, memberBrowser, { clientId }),
  ];
  const api = await apiWithToken(product, await tokenWith(product, "members:write"));
  const registered = (await api.expect(200, "GET", "/registrations")).at("items") as object[];
  assert.ok(
    registered.some(
      (row) => "clientId" in row && row.clientId === clientId && "connected" in row && row.connected === 2,
    ),
  );
  const ended = await api.expect(200, "POST", "/registrations/revoke", { clientId });
  assert.equal(ended.at("ended"), 2);
  for (const { tokens } of clients) assert.equal(await status(tokens.access_token), 401);
});

test("a disconnected web client must ask again, although the person's answer was remembered", async () => {
  const redirectUri = "https://client.example/callback";
  const clientId = await publicClient(product, redirectUri);
  await signInClient(product, memberBrowser, { clientId, redirectUri });
  const path = `/oauth/authorize?${new URLSearchParams({
    ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, state: "s" },
    ...{ code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" },
  })}`;
  const asked = async () => (await memberBrowser.get((await memberBrowser.get(path)).location ?? "")).status;
  assert.equal(await asked(), 303, "remembered");
  for (const one of await items(member))
    if (one.clientId === clientId) await member.call("DELETE", `/clients/${one.id}`);
  assert.equal(await asked(), 200, "asked");
});

test("the command line lists and disconnects in another process; the running server refuses its calls", async () => {
  const { tokens, clientId } = await signInClient(product, memberBrowser);
  assert.equal(await status(tokens.access_token), 200);
  const env = {
    JACKFIELD_DATA_DIR: `${product.directory}/data`,
    JACKFIELD_CONFIG_DIR: `${product.directory}/config`,
    JACKFIELD_LOG: "silent",
  };
  const listed = await runToEnd(["client", "list", "--json"], env);
  assert.equal(listed.code, 0, listed.stderr);
  const rows = JSON.parse(listed.stdout) as { id: string; clientId: string }[];
  const id = rows.find((row) => row.clientId === clientId)?.id ?? "";
  const revoked = await runToEnd(["client", "revoke", id], env);
  assert.equal(revoked.code, 0, revoked.stderr);
  // The change table is looked at every quarter of a second.
  const until = performance.now() + 20_000;
  while (performance.now() < until && (await status(tokens.access_token)) === 200) await new Promise(setImmediate);
  assert.equal(await status(tokens.access_token), 401);
  await product.app.audit.flush();
  const notes = (await product.app.audit.tail({ limit: 200 })).filter(({ rule }) => rule === "client_revoked");
  assert.ok(notes.some(({ principalKind, reason }) => principalKind === "operator" && reason?.includes(id)));
});

test("the page lists what one connected and disconnects it", async () => {
  const { tokens } = await signInClient(product, memberBrowser);
  const page = await memberBrowser.get("/clients");
  assert.match(page.text, /Test client/);
  assert.doesNotMatch(page.text, /dana/);
  const [, client = ""] = /name="client" value="([^"]+)"/.exec(page.text) ?? [];
  assert.equal((await memberBrowser.post("/clients", { client })).location, "/clients");
  assert.equal(await status(tokens.access_token), 401);
});

test("the page of tokens makes one that is shown once, and revokes it", async () => {
  await memberBrowser.get("/tokens");
  const made = await memberBrowser.post("/tokens", {
    name: "script",
    endpoint: ["default"],
    scope: ["mcp:read"],
    days: "7",
  });
  const [, secret = ""] = /<code>(jkf_pat_[^<]+)<\/code>/.exec(made.text) ?? [];
  assert.equal(await status(secret), 200);
  const page = await memberBrowser.get("/tokens");
  assert.doesNotMatch(page.text, new RegExp(secret.slice(8, 51)));
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(page.text) ?? [];
  await memberBrowser.post("/tokens/change", { token, change: "revoke" });
  assert.equal(await status(secret), 401);
  const wrong = await memberBrowser.post("/tokens", {
    name: "x",
    endpoint: ["nowhere"],
    scope: ["mcp:read"],
    days: "7",
  });
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /there is no endpoint nowhere/);
});
