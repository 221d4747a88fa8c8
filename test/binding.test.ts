import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { UpstreamError } from "../adapters/contract.ts";
import { isWithin } from "../adapters/credential-scope.ts";
import { JackfieldError } from "../server/errors.ts";
import { DEPLOYMENT_KEY } from "../server/signin/types.ts";
import { type AccountRoom, openAccountRoom, servedConnection, signIn } from "./fixtures/account-room.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./fixtures/authorization-server.ts";
import { sqlite } from "./fixtures/databases.ts";
import { type Listening, listen } from "./fixtures/upstreams/listen.ts";
import { plainTool, startPlainUpstream } from "./fixtures/upstreams/plain.ts";
import { startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

const ANNA = "a".repeat(64);
const BEN = "b".repeat(64);
const EVE = "e".repeat(64);

async function scene(t: TestContext): Promise<{ room: AccountRoom; server: AuthorizationServer }> {
  const room = await openAccountRoom({ place: await sqlite.place(t) });
  const server = await startAuthorizationServer({ clock: () => room.time.now });
  t.after(async () => {
    await room.close();
    await server.close();
  });
  return { room, server };
}

test("principals and connections at one address each send their own token, and who has none sends nothing", async (t) => {
  const { room, server } = await scene(t);
  const upstream = await startProtectedUpstream(server);
  t.after(() => upstream.close());
  const both = ["first", "second"].map((slug) => servedConnection({ url: upstream.url, slug, subject: "user" }));
  const tokens = new Map<string, string>();
  for (const connection of both) {
    for (const principalKey of [ANNA, BEN]) {
      const account = await signIn(room, server, connection, { principalKey });
      tokens.set(`${connection.slug} ${principalKey}`, room.accounts.tokens(account)?.accessToken ?? "");
    }
  }
  assert.equal(new Set(tokens.values()).size, 4);
  for (const connection of both) {
    for (const principalKey of [ANNA, BEN]) {
      upstream.presented.length = 0;
      await room.call(connection, principalKey);
      const own = `Bearer ${tokens.get(`${connection.slug} ${principalKey}`)}`;
      assert.deepEqual([...new Set(upstream.presented)], [own]);
    }
  }
  upstream.presented.length = 0;
  const refusal = await room.call(both[0] ?? assert.fail(), EVE).catch((error: unknown) => error);
  assert.ok(refusal instanceof JackfieldError);
  assert.deepEqual(refusal.data, { connection: "first", reason: "no_account" });
  assert.deepEqual(upstream.presented, []);
  assert.equal(await room.credentials.connected(both[0] ?? assert.fail(), EVE), false);
});

test("a connection of single users is no one's where nobody asks, and one of all is everybody's", async (t) => {
  const { room, server } = await scene(t);
  const upstream = await startProtectedUpstream(server);
  t.after(() => upstream.close());
  const own = servedConnection({ url: upstream.url, slug: "own", subject: "user" });
  await signIn(room, server, own, { principalKey: ANNA });
  await assert.rejects(room.credentials.credentialFor(own, undefined)(), { code: "authorization_required" });
  const common = servedConnection({ url: upstream.url, slug: "common" });
  await signIn(room, server, common);
  await room.call(common, ANNA);
  await room.call(common, BEN);
  assert.equal(new Set(upstream.presented).size, 1);
});

test("a connection that was moved elsewhere needs a new sign-in, and the new place sees nothing", async (t) => {
  const { room, server } = await scene(t);
  const upstream = await startProtectedUpstream(server);
  const elsewhere = await startPlainUpstream([plainTool("echo")]);
  t.after(() => Promise.all([upstream.close(), elsewhere.close()]));
  const connection = servedConnection({ url: upstream.url });
  await signIn(room, server, connection);
  await room.call(connection);
  const other = new URL("/other", upstream.url).href;
  for (const url of [elsewhere.url, other, `${new URL(upstream.url).origin}/mcp-of-another`]) {
    const moved = servedConnection({ url });
    upstream.presented.length = 0;
    const refusal = await room.call(moved).catch((error: unknown) => error);
    assert.ok(refusal instanceof JackfieldError, `${url}: ${refusal}`);
    assert.deepEqual(refusal.data, { connection: "tracker", reason: "address_changed" });
    assert.equal(await room.credentials.connected(moved, undefined), false);
    assert.deepEqual(upstream.presented, []);
  }
  assert.equal(elsewhere.requests.length, 0);
  // Moved back, or to another parameter of the same place, it is what it was.
  await room.call(servedConnection({ url: `${upstream.url}?project=web` }));
});

test("no redirect takes a token out of where it belongs", async (t) => {
  const { room, server } = await scene(t);
  const elsewhere = await startPlainUpstream([plainTool("echo")]);
  const targets: Record<string, string> = {};
  const upstream = await listen((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const location = targets[path];
    request.resume();
    if (location === undefined) return void response.writeHead(404).end();
    response.writeHead(307, { location }).end();
  });
  t.after(() => Promise.all([upstream.close(), elsewhere.close()]));
  const { origin } = new URL(upstream.url);
  const connection = servedConnection({ url: upstream.url });
  const account = await signIn(room, server, connection);
  const bearer = `Bearer ${room.accounts.tokens(account)?.accessToken}`;

  // To another origin: the request goes on without the token.
  targets["/mcp"] = elsewhere.url;
  await room.call(connection);
  assert.ok(elsewhere.requests.length > 0);
  assert.deepEqual(authorizations(elsewhere), [undefined]);
  assert.deepEqual(authorizations(upstream), [bearer]);

  // Below the bound address it stays, beside it on the same host it does not, not even on the way back.
  upstream.requests.length = 0;
  targets["/mcp"] = "/mcp/v2";
  targets["/mcp/v2"] = `${origin}/admin`;
  targets["/admin"] = "/mcp/v3";
  await assert.rejects(room.call(servedConnection({ url: `${upstream.url}?x=1` })));
  const seen = Object.groupBy(upstream.requests, ({ url }) => url.split("?")[0] ?? "");
  assert.deepEqual(seen["/mcp/v2"]?.[0]?.headers.authorization, bearer);
  assert.deepEqual(seen["/admin"]?.[0]?.headers.authorization, undefined);
  assert.deepEqual(seen["/mcp/v3"]?.[0]?.headers.authorization, undefined);
});

test("a token endpoint that redirects gets no second request, and where it points to sees nothing", async (t) => {
  const { room, server } = await scene(t);
  const elsewhere = await listen((_request, response) => void response.writeHead(200).end("{}"));
  const upstream = await startProtectedUpstream(server);
  const endpoint = await listen((request, response) => {
    request.resume();
    response.writeHead(307, { location: elsewhere.url }).end();
  }, "/token");
  t.after(() => Promise.all([upstream.close(), elsewhere.close(), endpoint.close()]));
  const connection = servedConnection({ url: upstream.url });
  const account = await signIn(room, server, connection);
  await room.store.models.accounts.update({ tokenEndpoint: endpoint.url }, { where: { id: account.id } });
  room.time.now += 2 * 3600_000;
  await assert.rejects(room.call(connection), { code: "upstream_unreachable" });
  assert.equal(endpoint.requests.length, 1);
  assert.equal(elsewhere.requests.length, 0);
});

test("tokens are sealed to their own account, and lie in no column as they are", async (t) => {
  const { room, server } = await scene(t);
  const upstream = await startProtectedUpstream(server);
  t.after(() => upstream.close());
  const connection = servedConnection({ url: upstream.url, subject: "user" });
  const anna = await signIn(room, server, connection, { principalKey: ANNA });
  const ben = await signIn(room, server, connection, { principalKey: BEN });
  const secrets = [anna, ben].flatMap((account) => Object.values(room.accounts.tokens(account) ?? {}));
  assert.equal(secrets.length, 4);
  const stored = JSON.stringify(await room.accounts.list(connection.id));
  for (const secret of secrets) assert.ok(!stored.includes(String(secret)));
  // Somebody who can write the database moves a token to another row.
  await room.store.models.accounts.update({ sealedTokens: anna.sealedTokens }, { where: { id: ben.id } });
  const refusal = await room.call(connection, BEN).catch((error: unknown) => error);
  assert.ok(refusal instanceof JackfieldError);
  assert.deepEqual(refusal.data, { connection: "tracker", reason: "unreadable" });
  assert.deepEqual(upstream.presented, []);
});

test("missing permissions ask for a sign-in with them, three times at most, and never for a refresh", async (t) => {
  const { room, server } = await scene(t);
  const upstream = await startProtectedUpstream(server);
  t.after(() => upstream.close());
  const connection = servedConnection({ url: upstream.url });
  const first = await signIn(room, server, connection, { scope: "read" });
  await room.call(connection);
  upstream.needs.scope = "read write";
  for (const round of [1, 2]) {
    const refusal = await room.call(connection).catch((error: unknown) => error);
    assert.ok(refusal instanceof JackfieldError, `round ${round}: ${refusal}`);
    assert.deepEqual(refusal.data, { connection: "tracker", reason: "scope", scopes: ["read", "write"] });
    const account = await room.accounts.find(connection.id, DEPLOYMENT_KEY);
    assert.equal(account?.scopesWanted, "read write");
    assert.equal(account?.state, "connected", "what it may do already it still may");
    assert.equal(await room.credentials.settled(connection, undefined), false);
    // The authorization server grants less than was asked for.
    const again = await signIn(room, server, connection, { scope: "read" });
    await room.store.models.accounts.update({ scopesAsked: "read write" }, { where: { id: again.id } });
    assert.equal(again.id, first.id);
    await room.shared.bus.publish("accounts", {});
  }
  const refusal = await room.call(connection).catch((error: unknown) => error);
  assert.ok(refusal instanceof UpstreamError, String(refusal));
  assert.equal(refusal.code, "authentication_required");
  assert.equal(server.seen("token").length, 0);
});

test("what lies within an address ends at its segments", () => {
  const bound = "https://host.example/mcp";
  const within = (url: string) => isWithin(new URL(url), bound);
  for (const url of ["/mcp", "/mcp/", "/mcp/v2", "/mcp?x=1", "/mcp/a%20b"]) {
    assert.ok(within(`https://host.example${url}`), url);
  }
  for (const url of ["/", "/mcp2", "/mcp-other", "/other/mcp", "/mcp/../admin", "/mcp/%2e%2e/admin", "/MCP"]) {
    assert.ok(!within(`https://host.example${url}`), url);
  }
  for (const url of ["/mcp/..%2fadmin", "/mcp/%5c..%5cadmin", "/mcp/a/..%2F..%2Fadmin"]) {
    assert.ok(!within(`https://host.example${url}`), url);
  }
  for (const origin of ["http://host.example", "https://host.example:8443", "https://sub.host.example"]) {
    assert.ok(!within(`${origin}/mcp`), origin);
  }
  assert.ok(isWithin(new URL("https://host.example/any"), "https://host.example/"));
});

function authorizations(listening: Listening): (string | undefined)[] {
  return [...new Set(listening.requests.map(({ headers }) => headers.authorization))];
}
