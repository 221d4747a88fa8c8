import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { loadConfigDir } from "../server/connections/files.ts";
import type { AuthConfig } from "../server/connections/types.ts";
import { JackfieldError } from "../server/errors.ts";
import { createAppFlow } from "../server/signin/app-flow.ts";
import { readTokenAnswer } from "../server/signin/token-response.ts";
import { DEPLOYMENT_KEY } from "../server/signin/types.ts";
import { type AccountRoom, openAccountRoom, servedConnection } from "./fixtures/account-room.ts";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from "./fixtures/authorization-server.ts";
import { configDir } from "./fixtures/config-dir.ts";
import { sqlite } from "./fixtures/databases.ts";
import { type ProtectedUpstream, startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

const ENV = { APP_ID: "app-id", APP_SECRET: "app-secret" };
const CLIENT = { clientId: `\${env:APP_ID}`, clientSecret: `\${env:APP_SECRET}` };

/** The apps as an operator would write them for these providers. */
const PROVIDERS = {
  github: {
    ...CLIENT,
    label: "GitHub",
    authorizationUrl: "https://github.com/login/oauth/authorize",
    tokenUrl: "https://github.com/login/oauth/access_token",
    scopes: { read: ["read:org"], write: ["repo"] },
    reach: { note: "Only organizations that approved the app.", link: "https://github.com/settings/applications" },
  },
  google: {
    ...CLIENT,
    label: "Google",
    authorizationUrl: "https://accounts.google.com/o/oauth2/v2/auth",
    tokenUrl: "https://oauth2.googleapis.com/token",
    revocationUrl: "https://oauth2.googleapis.com/revoke",
    scopes: {
      read: ["https://www.googleapis.com/auth/calendar.readonly"],
      write: ["https://www.googleapis.com/auth/calendar"],
    },
    parameters: { access_type: "offline", prompt: "consent" },
  },
  microsoft: {
    ...CLIENT,
    label: "Microsoft",
    authorizationUrl: "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/authorize?domain_hint=organizations",
    tokenUrl: "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
    scopes: ["offline_access", "Mail.Read"],
  },
  slack: {
    ...CLIENT,
    label: "Slack",
    authorizationUrl: "https://slack.com/oauth/v2/authorize",
    tokenUrl: "https://slack.com/api/oauth.v2.access",
    scopes: ["channels:read", "chat:write"],
    scopeParameter: "user_scope",
    scopeSeparator: ",",
    pkce: false,
  },
};

test("each provider's page is opened with what that provider wants, and nothing of it is lost", async (t) => {
  const room = await openAccountRoom({ place: await sqlite.place(t), env: ENV, oauthApps: PROVIDERS });
  t.after(() => room.close());
  const urlOf = (app: string, auth: Partial<AuthConfig> = {}) => {
    const found = room.apps.of(connectionOf("https://mcp.example/mcp", { app, ...auth }));
    assert.ok(found);
    const request = { state: "the-state", redirectUri: "https://ours.example/connections/callback", verifier: "v" };
    return room.apps.authorizationUrl(found, request);
  };
  const github = urlOf("github");
  assert.equal(github.origin + github.pathname, "https://github.com/login/oauth/authorize");
  assert.equal(github.searchParams.get("client_id"), "app-id");
  assert.equal(github.searchParams.get("scope"), "read:org repo");
  assert.equal(github.searchParams.get("state"), "the-state");
  assert.equal(github.searchParams.get("code_challenge_method"), "S256");
  assert.equal(github.searchParams.has("client_secret"), false);

  const google = urlOf("google", { scopes: ["openid"] });
  assert.equal(google.searchParams.get("access_type"), "offline");
  assert.equal(google.searchParams.get("prompt"), "consent");
  assert.equal(google.searchParams.get("scope"), "openid", "the connection's own scopes win");

  const microsoft = urlOf("microsoft", { values: { tenant: "contoso.example" } });
  assert.equal(microsoft.pathname, "/contoso.example/oauth2/v2.0/authorize");
  assert.equal(microsoft.searchParams.get("domain_hint"), "organizations");
  assert.equal(microsoft.searchParams.get("response_type"), "code");

  const slack = urlOf("slack");
  assert.equal(slack.searchParams.get("user_scope"), "channels:read,chat:write");
  assert.equal(slack.searchParams.has("scope"), false);
  assert.equal(slack.searchParams.has("code_challenge"), false);
});

test("a connection that only reads asks for the read scopes only", async (t) => {
  const room = await openAccountRoom({ place: await sqlite.place(t), env: ENV, oauthApps: PROVIDERS });
  t.after(() => room.close());
  const connection = connectionOf("https://mcp.example/mcp", { app: "google" });
  const readOnly = { ...connection, access: { ...connection.access, preset: "read-only" as const } };
  assert.deepEqual(room.apps.of(readOnly)?.scopes, ["https://www.googleapis.com/auth/calendar.readonly"]);
  // The same where the connection's own file names its scopes.
  const dir = configDir(t, {
    "connections/tracker.yml": [
      "version: 1",
      "connection:",
      "  type: mcp",
      "  url: https://mcp.example/mcp",
      "  auth: { method: oauth, scopes: { read: [issues:read], write: [issues:write] } }",
      "  access: { preset: read-only, read: { tools: ['*'] } }",
      "",
    ].join("\n"),
  });
  const { organizations, errors } = loadConfigDir(dir.path, {});
  assert.deepEqual(errors, []);
  assert.deepEqual(organizations[0]?.environments[0]?.connections[0]?.config.auth.scopes, ["issues:read"]);
});

test("what is wrong with an app is said, and where to put it right", async (t) => {
  const room = await openAccountRoom({ place: await sqlite.place(t), env: { APP_ID: "x" }, oauthApps: PROVIDERS });
  t.after(() => room.close());
  const failure = (auth: Partial<AuthConfig>) => {
    try {
      room.apps.of(connectionOf("https://mcp.example/mcp", auth));
    } catch (error) {
      assert.ok(error instanceof JackfieldError);
      return error.message;
    }
    return assert.fail("it was used");
  };
  assert.match(failure({ app: "dropbox" }), /no OAuth app dropbox.*oauthApps in jackfield\.yml/);
  assert.equal(failure({ app: "github" }), "Missing APP_SECRET");
  assert.match(failure({ app: "microsoft" }), /tenant is not set.*auth\.values of the connection tracker/);
  for (const tenant of ["evil.example/x?", "a b", "../common", "", "@evil.example"]) {
    assert.match(failure({ app: "microsoft", values: { tenant } }), /tenant may hold/, tenant);
  }
  assert.deepEqual(room.apps.reach("github"), PROVIDERS.github.reach);
  assert.equal(room.apps.reach("slack"), undefined);
});

test("jackfield.yml takes apps with their secrets by name only, and says which are missing", (t) => {
  const app = (...lines: string[]) =>
    ["version: 1", "oauthApps:", "  github:", ...lines.map((line) => `    ${line}`), ""].join("\n");
  const urls = ["authorizationUrl: https://github.com/a", "tokenUrl: https://github.com/t"];
  const load = (text: string, connection = "auth: { method: oauth, app: github }") => {
    const lines = ["version: 1", "connection:", "  type: mcp", "  url: https://mcp.example/mcp", `  ${connection}`, ""];
    const dir = configDir(t, { "jackfield.yml": text, "connections/tracker.yml": lines.join("\n") });
    const { errors, missing } = loadConfigDir(dir.path, { APP_ID: "x" });
    return { errors: errors.map(({ message }) => message), missing: missing.map(({ message }) => message) };
  };
  const good = app(`clientId: \${env:APP_ID}`, `clientSecret: \${env:APP_SECRET}`, ...urls);
  assert.deepEqual(load(good), { errors: [], missing: ["Missing APP_SECRET"] });
  assert.match(load(app("clientId: abc", ...urls)).errors.join(), /must name an environment variable/);
  const fixed = app(`clientId: \${env:APP_ID}`, ...urls, "parameters: { state: fixed }");
  assert.match(load(fixed).errors.join(), /is set by each request itself/);
  const broken = app(`clientId: \${env:APP_ID}`, "authorizationUrl: https://{a.example/", "tokenUrl: https://x/");
  assert.match(load(broken).errors.join(), /must be a URL/);
  assert.match(load(good, "auth: { method: oauth, app: other }").errors.join(), /no OAuth app other/);
  assert.match(load(good, "auth: { method: oauth, values: { a: b } }").errors.join(), /goes with app only/);
});

/** Answers as these providers were seen to send them, secrets replaced. */
const RECORDED = {
  "GitHub, unless asked for JSON": {
    type: "application/x-www-form-urlencoded; charset=utf-8",
    body: "access_token=gho_16C7e42F292c6912E7710c838347Ae178B4a&scope=read%3Aorg%2Crepo&token_type=bearer",
    tokens: { accessToken: "gho_16C7e42F292c6912E7710c838347Ae178B4a", scope: "read:org repo" },
  },
  "GitHub App with expiring tokens": {
    type: "application/json; charset=utf-8",
    body: '{"access_token":"ghu_a","expires_in":28800,"refresh_token":"ghr_b","refresh_token_expires_in":15811200,"token_type":"bearer","scope":""}',
    tokens: { accessToken: "ghu_a", refreshToken: "ghr_b", expiresIn: 28800 },
  },
  "Google, first time": {
    type: "application/json; charset=utf-8",
    body: '{\n  "access_token": "ya29.a0",\n  "expires_in": 3599,\n  "refresh_token": "1//0g",\n  "scope": "openid https://www.googleapis.com/auth/calendar",\n  "token_type": "Bearer",\n  "id_token": "a.b.c"\n}',
    tokens: {
      accessToken: "ya29.a0",
      refreshToken: "1//0g",
      expiresIn: 3599,
      scope: "openid https://www.googleapis.com/auth/calendar",
    },
  },
  "Microsoft, old endpoint": {
    type: "application/json; charset=utf-8",
    body: '{"token_type":"Bearer","scope":"Mail.Read","expires_in":"3599","ext_expires_in":"3599","expires_on":"1735689600","access_token":"eyJ0.a.b","refresh_token":"0.AX"}',
    tokens: { accessToken: "eyJ0.a.b", refreshToken: "0.AX", expiresIn: 3599, scope: "Mail.Read" },
  },
  "Slack, a bot's": {
    type: "application/json; charset=utf-8",
    body: '{"ok":true,"app_id":"A1","authed_user":{"id":"U1"},"scope":"channels:read,chat:write","token_type":"bot","access_token":"xoxb-1","bot_user_id":"B1","team":{"id":"T1","name":"Acme"}}',
    tokens: { accessToken: "xoxb-1", scope: "channels:read chat:write" },
  },
  "Slack, a user's with rotation": {
    type: "application/json; charset=utf-8",
    body: '{"ok":true,"app_id":"A1","authed_user":{"id":"U1","scope":"search:read","access_token":"xoxe.xoxp-1","token_type":"user","refresh_token":"xoxe-1","expires_in":43200},"team":{"id":"T1"}}',
    tokens: { accessToken: "xoxe.xoxp-1", refreshToken: "xoxe-1", expiresIn: 43200, scope: "search:read" },
  },
  "no type and no expiry": {
    type: "text/plain",
    body: '{"access_token":"only"}',
    tokens: { accessToken: "only" },
  },
};

for (const [name, { type, body, tokens }] of Object.entries(RECORDED)) {
  test(`a token answer is read: ${name}`, () => {
    const answer = readTokenAnswer(body, type);
    assert.equal(answer.kind, "tokens");
    assert.deepEqual(answer.kind === "tokens" && answer.tokens, tokens);
  });
}

test("what is told to a piece of a token answer gets no new tokens and says to nobody who somebody is", () => {
  const body = JSON.stringify({
    access_token: "xoxb-1",
    refresh_token: "refresh",
    id_token: "identity",
    team: { id: "T1" },
    authed_user: { access_token: "xoxp-1", refresh_token: "refresh-2", refresh_token_expires_in: 9 },
  });
  const answer = readTokenAnswer(body, "application/json");
  assert.deepEqual(answer.kind === "tokens" && answer.data, {
    access_token: "xoxb-1",
    team: { id: "T1" },
    authed_user: { access_token: "xoxp-1" },
  });
});

test("an app takes from a piece what its author wrote down; a smaller form of the piece asks for its scopes only", async (t) => {
  const place = await sqlite.place(t);
  const room = await openAccountRoom({
    place,
    env: ENV,
    oauthApps: { newest: { ...CLIENT, piece: "newest", parameters: { owner: "workspace" } } },
    pieceSignIn: (id) =>
      id === "newest"
        ? {
            authorizationUrl: "https://{region}.newest.example/authorize?user_scope=extra",
            tokenUrl: "https://{region}.newest.example/token",
            scopes: ["notes:read", "notes:write"],
            pkce: false,
            authentication: "header",
            parameters: { owner: "user", prompt: "consent" },
          }
        : undefined,
  });
  t.after(() => room.close());
  const base = connectionOf("https://unused.example/", { app: "newest", values: { region: "eu" } });
  const app = room.apps.of(base);
  assert.ok(app);
  assert.equal(app.tokenUrl, "https://eu.newest.example/token");
  assert.equal(app.client.method, "client_secret_basic");
  const url = room.apps.authorizationUrl(app, { state: "s", redirectUri: "https://ours.example/cb", verifier: "v" });
  assert.equal(url.host, "eu.newest.example");
  assert.deepEqual(
    ["user_scope", "scope", "owner", "prompt", "code_challenge"].map((name) => url.searchParams.get(name)),
    ["extra", "notes:read notes:write", "workspace", "consent", null],
  );
  const lite = { ...base, config: { piece: "newest-lite", scopes: ["notes:read"] } };
  assert.deepEqual(room.apps.of(lite)?.scopes, ["notes:read"]);
  const wider = { ...lite, auth: { ...lite.auth, scopes: ["notes:read", "notes:write"] } };
  assert.deepEqual(room.apps.of(wider)?.scopes, ["notes:read"], "a connection asks for no more than the offer");
});

test("refusals are read whatever their status, and what is no answer gives no token", () => {
  const errorOf = (body: string, type = "application/json") => {
    const answer = readTokenAnswer(body, type);
    return answer.kind === "error" ? answer.error : answer.kind;
  };
  assert.equal(
    errorOf("error=bad_refresh_token&error_description=It+expired", "application/x-www-form-urlencoded"),
    "bad_refresh_token",
  );
  assert.equal(errorOf('{"ok":false,"error":"invalid_refresh_token"}'), "invalid_refresh_token");
  assert.equal(errorOf('{"error":"invalid_grant","error_codes":[70008]}'), "invalid_grant");
  assert.equal(errorOf('{"error":{"code":"invalid_client","message":"no"}}'), "invalid_client");
  for (const body of ["", "null", "[]", "{", "<html></html>", '{"access_token":7}', '{"access_token":""}']) {
    assert.equal(errorOf(body), "unreadable", body);
  }
  assert.equal(errorOf('{"access_token":"a\\r\\nSet-Cookie: b"}'), "unreadable");
  assert.equal(errorOf('{"access_token":"a","token_type":"DPoP"}'), "unreadable");
  const endless = readTokenAnswer('{"access_token":"a","expires_in":1e300}', null);
  assert.ok(endless.kind === "tokens" && (endless.tokens.expiresIn ?? 0) < 1e9);
});

interface Scene {
  room: AccountRoom;
  server: AuthorizationServer;
  upstream: ProtectedUpstream;
  /** Signs in through the app as a browser would, and keeps the account. */
  signIn(): Promise<void>;
  connection: ReturnType<typeof servedConnection>;
}

async function scene(t: TestContext, app: object, options: AuthorizationServerOptions = {}): Promise<Scene> {
  let opened: AccountRoom | undefined;
  const server = await startAuthorizationServer({
    clients: { [ENV.APP_ID]: { secret: ENV.APP_SECRET } },
    metadata: "none",
    iss: "absent",
    clock: () => opened?.time.now ?? Date.now(),
    ...options,
  });
  const room = await openAccountRoom({
    place: await sqlite.place(t),
    env: ENV,
    oauthApps: {
      provider: {
        ...CLIENT,
        authorizationUrl: server.endpoint("authorize"),
        tokenUrl: server.endpoint("token"),
        scopes: ["read"],
        ...app,
      },
    },
  });
  const upstream = await startProtectedUpstream(server, { metadata: "none" });
  t.after(async () => {
    await room.close();
    await upstream.close();
    await server.close();
  });
  opened = room;
  const connection = connectionOf(upstream.url, { app: "provider" });
  const flow = createAppFlow({
    apps: room.apps,
    publicUrl: () => "http://127.0.0.1:7420",
    fetch: globalThis.fetch,
    clock: () => room.time.now,
  });
  const signIn = async () => {
    const request = flow.request(connection, "the-state");
    assert.ok(request);
    const response = await fetch(request.url, { redirect: "manual" });
    const back = new URL(response.headers.get("location") ?? "");
    assert.equal(back.searchParams.get("state"), "the-state");
    const principal = { key: DEPLOYMENT_KEY, issuer: "", subject: "" };
    const { oauthApp = "", issuer, tokenEndpoint, boundResource, scopes } = request.flow;
    const whole = { ...request.flow, principal, authorizationUrl: request.url.href };
    const tokens = await flow.redeem(connection, whole, back.searchParams.get("code") ?? "", request.redirectUri);
    await room.accounts.save({
      organizationId: connection.organizationId,
      connectionId: connection.id,
      principal,
      authorizationServer: issuer,
      oauthApp,
      tokenEndpoint,
      boundResource,
      scopesAsked: scopes,
      tokens,
    });
  };
  return { room, server, upstream, signIn, connection };
}

for (const authentication of ["body", "header"] as const) {
  test(`the app's secret goes into the ${authentication}, at the sign-in and at each refresh`, async (t) => {
    const { room, server, signIn, connection } = await scene(t, { authentication });
    await signIn();
    await room.call(connection);
    room.time.now += 3600_000;
    await room.call(connection);
    const requests = server.seen("token");
    assert.deepEqual(
      requests.map(({ form }) => form.get("grant_type")),
      ["authorization_code", "refresh_token"],
    );
    for (const { form, headers } of requests) {
      assert.equal(form.get("client_secret"), authentication === "body" ? ENV.APP_SECRET : null);
      assert.equal(headers.authorization !== undefined, authentication === "header");
      assert.equal(headers.accept, "application/json");
      assert.equal(form.has("resource"), false, "these providers know no such parameter");
    }
  });
}

test("a provider that answers in its own way is signed in to and refreshed: forms, and no new refresh token", async (t) => {
  const { room, server, signIn, connection } = await scene(t, {}, { rotates: false });
  server.behaviour.shape = ({ access_token, refresh_token, expires_in, scope }) => {
    const form = new URLSearchParams({ access_token, scope, expires_in: String(expires_in), token_type: "bearer" });
    if (refresh_token !== undefined) form.set("refresh_token", refresh_token);
    return { type: "application/x-www-form-urlencoded; charset=utf-8", body: form.toString() };
  };
  await signIn();
  for (let round = 0; round < 3; round += 1) {
    room.time.now += 3600_000;
    await room.call(connection);
  }
  assert.equal(server.seen("token").length, 4);
});

test("a refusal that comes with status 200 ends the account like any other", async (t) => {
  const { room, server, signIn, connection } = await scene(t, {});
  await signIn();
  server.behaviour.shape = () => ({ type: "application/json", body: '{"ok":false,"error":"invalid_refresh_token"}' });
  room.time.now += 3600_000;
  await assert.rejects(room.call(connection), { code: "authorization_required" });
});

test("a secret that the operator mistyped throws nobody's sign-in away", async (t) => {
  const { room, server, signIn, connection } = await scene(t, {});
  await signIn();
  server.clients.set(ENV.APP_ID, { secret: "rotated" });
  room.time.now += 2 * 3600_000;
  await assert.rejects(room.call(connection), { code: "authentication_required" });
  const account = await room.accounts.find(connection.id, DEPLOYMENT_KEY);
  assert.equal(account?.state, "connected");
  server.clients.set(ENV.APP_ID, { secret: ENV.APP_SECRET });
  room.time.now += 60_000;
  await room.call(connection);
});

test("an account of one app is none of another", async (t) => {
  const { room, signIn, connection } = await scene(t, {});
  await signIn();
  const other = { ...connection, auth: { method: "oauth" as const } };
  const refusal = await room.call(other).catch((error: unknown) => error);
  assert.ok(refusal instanceof JackfieldError);
  assert.deepEqual(refusal.data, { connection: "tracker", reason: "app_changed" });
});

function connectionOf(url: string, auth: Partial<AuthConfig>): ReturnType<typeof servedConnection> {
  return servedConnection({ url, auth: { method: "oauth", ...auth } });
}
