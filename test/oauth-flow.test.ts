import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { auth, Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { auth as authV1, UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { textOf } from "./fixtures/clients.ts";
import { signedInPerson } from "./fixtures/connection-sign-in.ts";
import { authorizeHeadless } from "./fixtures/headless-sign-in.ts";
import {
  answerRequest,
  authorizePath,
  CALLBACK,
  pkce,
  publicClient,
  register,
  requestTokens,
  signInClient,
} from "./fixtures/oauth-client.ts";
import { createVisitor, signedInAdmin, type Visitor } from "./fixtures/page-visitor.ts";
import { type Product, startProduct } from "./fixtures/product.ts";
import { post, postModern } from "./fixtures/raw.ts";

const OFFLINE = { "jackfield.yml": "version: 1\noauth: { clientDocuments: off }\n" };
const ENDPOINTS = {
  support: { label: "Support", principals: { roles: ["member"] } },
  private: { label: "Private", principals: { people: ["dana"] } },
  bots: { label: "Bots", signIn: "off" },
};

let product: Product;
let visitor: Visitor;
/** The product's clock, which tests move; the library's own does not follow. */
let now = Date.now();
before(async () => {
  product = await startProduct({
    files: OFFLINE,
    endpoints: ENDPOINTS,
    env: { JACKFIELD_TRUSTED_PROXIES: "loopback" },
    clock: () => now,
  });
  visitor = await signedInAdmin(product);
});
after(() => product[Symbol.asyncDispose]());

const statusOf = async (token: string, url = product.url) => (await postModern(url, token, "tools/list")).status;
const auditOf = async (rule: string) => {
  await product.app.audit.flush();
  const { auditEvents } = product.app.store.models;
  return auditEvents.findAll({ where: { door: "oauth", rule }, order: [["id", "ASC"]] });
};

/** An OAuth provider as clients implement it, for both SDKs; the person answers in `visitor`. */
class MemoryProvider {
  readonly redirectUrl = CALLBACK;
  information: Record<string, unknown> | undefined;
  saved: { access_token: string; refresh_token?: string; token_type: string } | undefined;
  callback: URL | undefined;
  authorization: URL | undefined;
  #verifier = "";
  get clientMetadata() {
    return { client_name: "SDK client", redirect_uris: [this.redirectUrl] };
  }
  state() {
    return "state-of-the-client";
  }
  clientInformation() {
    return this.information as { client_id: string } | undefined;
  }
  saveClientInformation(information: object) {
    this.information = { ...information };
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens: { access_token: string; refresh_token?: string; token_type: string }) {
    this.saved = tokens;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
  async redirectToAuthorization(url: URL) {
    this.authorization = url;
    this.callback = (await authorizeHeadless(url, { visitor })).redirect;
  }
}

describe("SDK clients with their own OAuth code", () => {
  test("v2 signs in from a 401, calls tool_search, refreshes and calls again, in both eras", async () => {
    for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
      const provider = new MemoryProvider();
      const connect = async () => {
        const client = new Client({ name: "v2", version: "1" }, { versionNegotiation: { mode } });
        const transport = new StreamableHTTPClientTransport(new URL(product.url), { authProvider: provider });
        try {
          await client.connect(transport);
          return client;
        } catch (error) {
          if (!(error instanceof UnauthorizedError)) throw error;
          assert.equal(provider.callback?.searchParams.get("state"), "state-of-the-client");
          await transport.finishAuth(provider.callback.searchParams);
          return undefined;
        }
      };
      const client = (await connect()) ?? (await connect());
      assert.ok(client);
      assert.equal(provider.authorization?.searchParams.get("resource"), product.url);
      const searched = () => client.callTool({ name: "tool_search", arguments: { query: "anything" } });
      assert.equal((await searched()).isError ?? false, false);
      const old = provider.saved;
      assert.ok(old?.refresh_token);
      assert.equal(await auth(provider, { serverUrl: product.url }), "AUTHORIZED");
      assert.notEqual(provider.saved?.access_token, old.access_token);
      assert.notEqual(provider.saved?.refresh_token, old.refresh_token);
      assert.match(textOf(await searched()), /\S/);
      await client.close();
    }
  });

  test("v1 signs in, calls tool_search, refreshes and calls again", async () => {
    const provider = new MemoryProvider();
    const connect = async () => {
      const client = new ClientV1({ name: "v1", version: "1" });
      const transport = new TransportV1(new URL(product.url), { authProvider: provider });
      try {
        await client.connect(transport as Parameters<ClientV1["connect"]>[0]);
        return client;
      } catch (error) {
        if (!(error instanceof UnauthorizedV1)) throw error;
        await transport.finishAuth(provider.callback?.searchParams.get("code") ?? "");
        return undefined;
      }
    };
    const client = (await connect()) ?? (await connect());
    assert.ok(client);
    await client.callTool({ name: "tool_search", arguments: { query: "anything" } });
    const old = provider.saved?.access_token;
    assert.equal(await authV1(provider, { serverUrl: product.url }), "AUTHORIZED");
    assert.notEqual(provider.saved?.access_token, old);
    await client.callTool({ name: "tool_search", arguments: { query: "anything" } });
    await client.close();
  });
});

describe("tokens", () => {
  test("they have our form, so that scanners and our log know them, and are stored hashed", async () => {
    const { tokens } = await signInClient(product, visitor);
    assert.match(tokens.access_token, /^jkf_oat_[A-Za-z0-9_-]{43}_[0-9A-Za-z]{6}$/);
    assert.match(tokens.refresh_token, /^jkf_ort_/);
    assert.deepEqual([tokens.token_type, tokens.expires_in, tokens.scope], ["Bearer", 3600, "mcp:read mcp:write"]);
    const rows = await product.app.store.models.oauthArtifacts.findAll();
    const stored = JSON.stringify(rows.map((row) => row.get({ plain: true })));
    for (const secret of [tokens.access_token, tokens.refresh_token]) assert.ok(!stored.includes(secret));
  });

  test("the caller behind one is the person, who keeps one identity over all clients", async () => {
    const first = await signInClient(product, visitor);
    const second = await signInClient(product, visitor);
    const endpoint = product.app.registry.endpoint(undefined, undefined)?.endpoint;
    const principals = await Promise.all(
      [first, second].map(({ tokens }) => product.app.oauth.tokens.verify(tokens.access_token, endpoint)),
    );
    const [one, two] = principals.map((verified) => verified?.principal);
    assert.ok(one && two);
    assert.deepEqual([one.kind, one.issuer, one.name], ["person", "urn:jackfield:people", "Dana Reyes"]);
    assert.equal(one.key, two.key);
    assert.notEqual(one.clientKey, two.clientKey);
    const refreshed = await first.refresh();
    const later = await product.app.oauth.tokens.verify(refreshed.body.access_token, endpoint);
    assert.equal(later?.principal.clientKey, one.clientKey);
  });

  test("a client of several endpoints needs a token for each: one for another audience is invalid", async () => {
    const { tokens } = await signInClient(product, visitor, { resource: product.endpoint("support") });
    assert.equal(await statusOf(tokens.access_token, product.endpoint("support")), 200);
    for (const url of [product.url, product.endpoint("private"), product.endpoint("bots"), product.endpoint("none")]) {
      const answer = await postModern(url, tokens.access_token, "tools/list");
      assert.equal(answer.status, 401, url);
      assert.match(answer.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
    }
  });

  test("a refresh cannot change the audience", async () => {
    const client = await signInClient(product, visitor);
    const { status, body } = await client.refresh(undefined, { resource: product.endpoint("support") });
    assert.deepEqual([status, body.error], [400, "invalid_target"]);
  });

  test("a code that is used twice gives nothing and ends what the first use gave", async () => {
    const clientId = await publicClient(product);
    const { verifier, challenge } = pkce();
    const request = { client_id: clientId, redirect_uri: CALLBACK, code_challenge: challenge, resource: product.url };
    const code = (await answerRequest(visitor, authorizePath(request))).searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: CALLBACK };
    const first = await requestTokens(product, { ...form, client_id: clientId });
    assert.equal(await statusOf(first.body.access_token), 200);
    const before = (await auditOf("replayed")).length;
    const second = await requestTokens(product, { ...form, client_id: clientId });
    assert.deepEqual([second.status, second.body.error], [400, "invalid_grant"]);
    assert.equal(await statusOf(first.body.access_token), 401);
    const events = await auditOf("replayed");
    assert.equal(events.length, before + 1);
    assert.deepEqual([events.at(-1)?.decision, events.at(-1)?.reason], ["refuse", "code_replayed"]);
  });

  test("a code that is used by several at once gives tokens that work to none, or to one", async () => {
    const clientId = await publicClient(product);
    const { verifier, challenge } = pkce();
    const request = { client_id: clientId, redirect_uri: CALLBACK, code_challenge: challenge, resource: product.url };
    const code = (await answerRequest(visitor, authorizePath(request))).searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: CALLBACK };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => requestTokens(product, { ...form, client_id: clientId })),
    );
    const given = answers.filter(({ status }) => status === 200);
    assert.ok(given.length <= 1, `${given.length} answers with tokens`);
    for (const { body } of given) assert.equal(await statusOf(body.access_token), 401);
  });

  test("a code is worth nothing to another client, without its verifier, or for another address", async () => {
    const clientId = await publicClient(product);
    const other = await publicClient(product);
    const { verifier, challenge } = pkce();
    const request = { client_id: clientId, redirect_uri: CALLBACK, code_challenge: challenge, resource: product.url };
    const code = (await answerRequest(visitor, authorizePath(request))).searchParams.get("code") ?? "";
    const form = {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: CALLBACK,
      client_id: clientId,
    };
    for (const wrong of [
      { client_id: other },
      { code_verifier: pkce().verifier },
      { code_verifier: "" },
      { redirect_uri: "http://127.0.0.1:1/callback" },
    ]) {
      const { status } = await requestTokens(product, { ...form, ...wrong });
      assert.equal(status, 400, JSON.stringify(wrong));
    }
    assert.equal((await requestTokens(product, form)).status, 200);
  });

  test("an authorization request without PKCE, or with the plain method, is refused", async () => {
    const client_id = await publicClient(product);
    for (const more of [{}, { code_challenge: "x".repeat(43), code_challenge_method: "plain" }]) {
      const { location } = await visitor.get(
        authorizePath({ client_id, redirect_uri: CALLBACK, resource: product.url, ...more }),
      );
      assert.equal(new URL(location ?? "").searchParams.get("error"), "invalid_request");
    }
  });

  test("the body's and the header's client authentication are worth the same", async () => {
    const { body } = await register(product, { redirect_uris: [CALLBACK] });
    const [clientId, secret] = [String(body["client_id"]), String(body["client_secret"])];
    const { verifier, challenge } = pkce();
    const request = { client_id: clientId, redirect_uri: CALLBACK, code_challenge: challenge, resource: product.url };
    const code = (await answerRequest(visitor, authorizePath(request))).searchParams.get("code") ?? "";
    const basic = { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString("base64")}` };
    const first = await requestTokens(
      product,
      { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: CALLBACK },
      basic,
    );
    assert.equal(first.status, 200, JSON.stringify(first.body));
    const form = { grant_type: "refresh_token", refresh_token: first.body.refresh_token };
    assert.equal((await requestTokens(product, { ...form, client_id: clientId, client_secret: secret })).status, 200);
    const wrong = await requestTokens(product, { ...form, client_id: clientId, client_secret: "wrong" });
    assert.deepEqual([wrong.status, wrong.body.error], [401, "invalid_client"]);
  });

  test("a public client that sends Basic with nothing but its id is understood", async () => {
    const client = await signInClient(product, visitor);
    const { status } = await requestTokens(
      product,
      { grant_type: "refresh_token", refresh_token: client.tokens.refresh_token },
      { authorization: `Basic ${Buffer.from(`${client.clientId}:`).toString("base64")}` },
    );
    assert.equal(status, 200);
  });

  test("revoking any token ends all of them, and nobody else's", async () => {
    const [mine, other] = [await signInClient(product, visitor), await signInClient(product, visitor)];
    const revoke = (token: string, client_id: string) =>
      fetch(new URL("/oauth/revoke", product.url), { method: "POST", body: new URLSearchParams({ token, client_id }) });
    assert.equal((await revoke(mine.tokens.access_token, other.clientId)).status, 200);
    assert.equal(await statusOf(mine.tokens.access_token), 200);
    assert.equal((await revoke(mine.tokens.access_token, mine.clientId)).status, 200);
    assert.equal(await statusOf(mine.tokens.access_token), 401);
    assert.equal((await mine.refresh()).body.error, "invalid_grant");
    assert.equal(await statusOf(other.tokens.access_token), 200);
  });

  test("an access token ends after its hour", async () => {
    const { tokens } = await signInClient(product, visitor);
    const at = now;
    now += 3_601_000;
    assert.equal(await statusOf(tokens.access_token), 401);
    now = at;
  });
});

describe("refreshing", () => {
  test("parallel refreshes each get tokens that work", async () => {
    const client = await signInClient(product, visitor);
    const answers = await Promise.all([1, 2, 3, 4].map(() => client.refresh()));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const fresh = new Set(answers.map(({ body }) => body.refresh_token));
    assert.equal(fresh.size, 4);
    for (const { body } of answers) {
      assert.equal(await statusOf(body.access_token), 200);
      assert.equal((await client.refresh(body.refresh_token)).status, 200);
    }
    assert.ok((await auditOf("grace_used")).length >= 3);
  });

  test("within the grace time a used refresh token works, after it its use ends the whole family", async () => {
    const client = await signInClient(product, visitor);
    const at = now;
    const first = await client.refresh();
    now += 119_000;
    const again = await client.refresh();
    assert.equal(again.status, 200);
    // The first use counts: later ones do not prolong it.
    now += 2_000;
    const before = (await auditOf("replayed")).length;
    const replayed = await client.refresh();
    assert.deepEqual([replayed.status, replayed.body.error], [400, "invalid_grant"]);
    for (const { body } of [first, again]) {
      assert.equal(await statusOf(body.access_token), 401);
      assert.equal((await client.refresh(body.refresh_token)).body.error, "invalid_grant");
    }
    const event = (await auditOf("replayed")).at(-1);
    assert.deepEqual([(await auditOf("replayed")).length, event?.reason], [before + 1, "refresh_replayed"]);
    now = at;
  });

  test("another client's refresh token is worth nothing", async () => {
    const [mine, other] = [await signInClient(product, visitor), await signInClient(product, visitor)];
    assert.equal((await other.refresh(mine.tokens.refresh_token)).body.error, "invalid_grant");
    assert.equal((await mine.refresh()).status, 200);
  });

  test("a scope string of another server is no error, and no scope more than was granted comes back", async () => {
    const client = await signInClient(product, visitor, { scope: "mcp:read" });
    const same = await client.refresh(undefined, { scope: "openid profile" });
    assert.deepEqual([same.status, same.body.scope], [200, "mcp:read"]);
    const more = await client.refresh(same.body.refresh_token, { scope: "mcp:read mcp:write" });
    assert.deepEqual([more.status, more.body.error], [400, "invalid_scope"]);
  });
});

describe("scopes", () => {
  test("who may write may read, and only that", async () => {
    const { tokens } = await signInClient(product, visitor, { scope: "mcp:write" });
    const endpoint = product.app.registry.endpoint(undefined, undefined)?.endpoint;
    const verified = await product.app.oauth.tokens.verify(tokens.access_token, endpoint);
    assert.deepEqual([...(verified?.principal.scopes ?? [])].sort(), ["mcp:read", "mcp:write"]);
  });

  test("what the person unticks is not granted, and the client is told", async () => {
    const { tokens } = await signInClient(product, visitor, { scopes: ["mcp:read"] });
    assert.equal(tokens.scope, "mcp:read");
  });

  test("pairing is never ticked beforehand", async () => {
    const { tokens } = await signInClient(product, visitor, { scope: "mcp:read mcp:write mcp:pair" });
    assert.equal(tokens.scope, "mcp:read mcp:write");
  });

  test("nothing ticked asks again", async () => {
    const client_id = await publicClient(product);
    const request = { client_id, redirect_uri: CALLBACK, code_challenge: pkce().challenge, resource: product.url };
    const { location } = await visitor.get(authorizePath(request));
    await visitor.get(location ?? "");
    const page = await visitor.post(location ?? "", { decision: "allow" });
    assert.equal(page.status, 422);
    assert.match(page.text, /Choose at least one thing/);
  });

  test("a token without any scope of ours is answered 403 with the whole challenge", async () => {
    const { tokens } = await signInClient(product, visitor);
    const { oauthArtifacts, oauthGrants } = product.app.store.models;
    assert.ok((await oauthArtifacts.count()) > 0 && (await oauthGrants.count()) > 0);
    const none = await product.token({ scopes: ["mcp:read"] });
    const { agentTokens } = product.app.store.models;
    await agentTokens.update({ scopes: "" }, { where: {} });
    const answer = await postModern(product.url, none, "tools/list");
    assert.equal(answer.status, 403);
    assert.match(
      answer.headers.get("www-authenticate") ?? "",
      /^Bearer realm="jackfield", error="insufficient_scope", resource_metadata="[^"]+", scope="mcp:read mcp:write"$/,
    );
    assert.equal(await statusOf(tokens.access_token), 200);
  });
});

describe("who may use an endpoint", () => {
  test("a member gets in where members may, and is told that the others do not exist", async () => {
    const member = await signedInPerson(product, { username: "robin", role: "member" });
    const client = await signInClient(product, member, { resource: product.endpoint("support") });
    assert.equal(await statusOf(client.tokens.access_token, product.endpoint("support")), 200);
    for (const resource of [product.url, product.endpoint("private")]) {
      const client_id = await publicClient(product);
      const request = { client_id, redirect_uri: CALLBACK, code_challenge: pkce().challenge, resource };
      const { location } = await member.get(authorizePath(request));
      const page = await member.get(location ?? "");
      assert.equal(page.status, 404);
      assert.match(page.text, /There is no such endpoint for you/);
    }
    assert.equal((await auditOf("endpoint_refused")).length, 2);
  });

  test("an endpoint that names people is theirs", async () => {
    const client = await signInClient(product, visitor, { resource: product.endpoint("private") });
    assert.equal(await statusOf(client.tokens.access_token, product.endpoint("private")), 200);
  });

  test("who loses the right meanwhile meets the answer of a nonexistent endpoint, and cannot refresh", async () => {
    const member = await signedInPerson(product, { username: "sam", role: "member" });
    const { members, people } = product.app.store.models;
    const person = await people.findOne({ where: { username: "sam" } });
    const where = { personId: person?.id ?? "" };
    await members.update({ role: "admin" }, { where });
    const client = await signInClient(product, member, { resource: product.url });
    assert.equal(await statusOf(client.tokens.access_token), 200);
    await members.update({ role: "member" }, { where });
    await product.app.oauth.personChanged(where.personId);
    assert.equal(await statusOf(client.tokens.access_token), 404);
    assert.equal((await client.refresh()).body.error, "invalid_grant");
  });

  test("a disabled person's tokens are dead", async () => {
    const leaver = await signedInPerson(product, { username: "lee", role: "admin" });
    const client = await signInClient(product, leaver);
    const { people } = product.app.store.models;
    await people.update({ disabledAt: new Date() }, { where: { username: "lee" } });
    await product.app.oauth.personChanged((await people.findOne({ where: { username: "lee" } }))?.id ?? "");
    assert.equal(await statusOf(client.tokens.access_token), 401);
    assert.equal((await client.refresh()).body.error, "invalid_grant");
  });

  test("an endpoint without sign-in, one that does not exist and another server are no resources", async () => {
    const client_id = await publicClient(product);
    for (const resource of [product.endpoint("bots"), product.endpoint("none"), "https://other.example/mcp", "urn:x"]) {
      const request = { client_id, redirect_uri: CALLBACK, code_challenge: pkce().challenge, resource };
      const { location } = await visitor.get(authorizePath(request));
      const { searchParams } = new URL(location ?? "");
      assert.equal(searchParams.get("error"), "invalid_target", resource);
      assert.equal(searchParams.get("iss"), new URL(product.url).origin);
    }
  });
});

describe("the consent page", () => {
  const open = async (browser: Visitor, redirectUri = CALLBACK, clientId?: string, prompt?: string) => {
    const client_id = clientId ?? (await publicClient(product, redirectUri));
    const request = {
      ...{ client_id, redirect_uri: redirectUri, prompt },
      ...{ code_challenge: pkce().challenge, resource: product.endpoint("support") },
    };
    const { location } = await browser.get(authorizePath(request));
    return { path: location ?? "", page: await browser.get(location ?? ""), client_id };
  };

  test("it names client, whole target, organization, endpoint, person and scopes in words", async () => {
    const { page } = await open(visitor, "https://client.example/api/mcp/callback?x=1");
    for (const text of [
      "Test client",
      "https://client.example/api/mcp/callback?x=1",
      "Support",
      "Dana Reyes",
      "Look things up",
      "Make changes",
      "Registered itself today",
      "has reviewed this client",
    ]) {
      assert.ok(page.text.includes(text), text);
    }
    assert.doesNotMatch(page.headers.get("content-security-policy") ?? "", /form-action/);
    assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    assert.equal(page.headers.get("cache-control"), "no-store");
    assert.doesNotMatch(page.text, /autofocus/);
  });

  test("it warns of programs on the own machine and of custom schemes", async () => {
    assert.match(
      (await open(visitor)).page.text,
      /program on the computer that this browser runs on \(127\.0\.0\.1:33999\)/,
    );
    const scheme = await open(visitor, "cursor://anysphere.cursor-mcp/oauth/callback");
    assert.match(scheme.page.text, /whichever program on this device opens cursor: links/);
  });

  test("a hosted client is not asked about twice; a native one, another target, or prompt=consent always is", async () => {
    const web = "https://client.example/callback";
    const { client_id } = await signInClient(product, visitor, {
      redirectUri: web,
      resource: product.endpoint("support"),
    }).then(({ clientId }) => ({ client_id: clientId }));
    assert.equal((await open(visitor, web, client_id)).page.status, 303);
    assert.equal((await open(visitor, web, client_id, "consent")).page.status, 200);
    const native = await signInClient(product, visitor, { resource: product.endpoint("support") });
    assert.equal((await open(visitor, CALLBACK, native.clientId)).page.status, 200);
  });

  test("who is not signed in is sent to the sign-in page and comes back", async () => {
    const stranger = createVisitor(new URL(product.url).origin);
    const { page, path } = await open(stranger);
    assert.equal(page.status, 303);
    assert.equal(page.location, `/sign-in?returnTo=${encodeURIComponent(path)}`);
  });

  test("the form of one person is nothing in another's browser, nor without the browser's own token", async () => {
    const other = await signedInPerson(product, { username: "kim", role: "member" });
    const { path } = await open(visitor);
    const posted = await other.post(path, { decision: "allow", scope: "mcp:read", csrf: visitor.token() });
    assert.equal(posted.status, 403);
    await other.get("/");
    const { page } = await open(other);
    assert.equal(page.status, 200);
    // Their own token, but a question that was put to somebody else.
    const stolen = await other.post(path, { decision: "allow", scope: "mcp:read" });
    assert.equal(stolen.status, 400);
    assert.equal(
      (await visitor.post(path, { decision: "allow", scope: "mcp:read", csrf: "x".repeat(43) })).status,
      403,
    );
    const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    assert.equal((await visitor.post(path, { decision: "allow", scope: "mcp:read" }, foreign)).status, 403);
  });

  test("an answer is taken once", async () => {
    const { path } = await open(visitor);
    const { location } = await visitor.post(path, { decision: "allow", scope: "mcp:read" });
    const back = new URL(location ?? "");
    assert.equal((await visitor.get(back.pathname)).status, 303);
    assert.equal((await visitor.get(back.pathname)).status, 400);
    assert.equal((await visitor.get(path)).status, 400);
  });

  test("grants, denials and remembered answers are in the audit", async () => {
    for (const rule of ["consent_allowed", "consent_remembered"]) {
      const [event] = await auditOf(rule);
      assert.ok(event, rule);
      assert.equal(event.principalName, "Dana Reyes");
    }
  });
});

test("a session belongs to the grant that opened it: another client of the same person cannot use it", async () => {
  const [mine, other] = [await signInClient(product, visitor), await signInClient(product, visitor)];
  const initialize = {
    ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
  };
  const opened = await post(product.url, mine.tokens.access_token, initialize);
  const headers = {
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  assert.equal((await post(product.url, other.tokens.access_token, list, headers)).status, 404);
  const refreshed = await mine.refresh();
  assert.equal((await post(product.url, refreshed.body.access_token, list, headers)).status, 200);
});

test("a grant that is ended ends its tokens at once", async () => {
  const { tokens } = await signInClient(product, visitor);
  assert.equal(await statusOf(tokens.access_token), 200);
  const { oauthGrants } = product.app.store.models;
  const grant = await oauthGrants.findOne({ order: [["id", "DESC"]] });
  assert.ok(grant);
  await product.app.oauth.grants.end(grant.grantKey, "revoked");
  assert.equal(await statusOf(tokens.access_token), 401);
});
