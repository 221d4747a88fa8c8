import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { type TestContext, test } from "node:test";
import { UpstreamError } from "../adapters/contract.ts";
import type { AuthConfig } from "../server/connections/types.ts";
import { JackfieldError } from "../server/errors.ts";
import { DEPLOYMENT_KEY } from "../server/signin/types.ts";
import { type AccountRoom, openAccountRoom, servedConnection } from "./fixtures/account-room.ts";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from "./fixtures/authorization-server.ts";
import { sqlite } from "./fixtures/databases.ts";
import {
  type ProtectedOptions,
  type ProtectedUpstream,
  startProtectedUpstream,
} from "./fixtures/upstreams/protected.ts";

interface Scene {
  room: AccountRoom;
  server: AuthorizationServer;
  upstream: ProtectedUpstream;
  connection: (auth?: Partial<AuthConfig>) => ReturnType<typeof servedConnection>;
}

const ENV = { CRM_ID: "crm client", CRM_SECRET: "s3cret:/+ä&" };
const OWN: Partial<AuthConfig> = { clientIdEnv: "CRM_ID", secretEnv: "CRM_SECRET" };

async function scene(
  t: TestContext,
  options: AuthorizationServerOptions = {},
  upstreamOptions: ProtectedOptions = {},
): Promise<Scene> {
  const room = await openAccountRoom({ place: await sqlite.place(t), env: ENV });
  const server = await startAuthorizationServer({
    clients: { [ENV.CRM_ID]: { secret: ENV.CRM_SECRET } },
    clock: () => room.time.now,
    // One that serves applications only has no use for PKCE.
    pkce: false,
    ...options,
  });
  const upstream = await startProtectedUpstream(server, upstreamOptions);
  t.after(async () => {
    await room.close();
    await upstream.close();
    await server.close();
  });
  const connection = (auth: Partial<AuthConfig> = OWN) =>
    servedConnection({ url: upstream.url, slug: "crm", auth: { method: "client_credentials", ...auth } });
  return { room, server, upstream, connection };
}

test("a token is minted once for all who call, with resource and scopes, and kept until 80 % of its life", async (t) => {
  const { room, server, upstream, connection } = await scene(t, {}, { scope: "crm:read" });
  await Promise.all(Array.from({ length: 20 }, () => room.call(connection())));
  assert.equal(server.seen("token").length, 1);
  const [request] = server.seen("token");
  assert.equal(request?.form.get("grant_type"), "client_credentials");
  assert.equal(request?.form.get("resource"), upstream.url);
  assert.equal(request?.form.get("scope"), "crm:read", "what the service asks for, where the operator names nothing");
  assert.match(request?.headers.authorization ?? "", /^Basic /);
  assert.equal(request?.form.has("client_secret"), false);
  room.time.now += 3600_000 * 0.79;
  await room.call(connection());
  assert.equal(server.seen("token").length, 1);
  room.time.now += 3600_000 * 0.02;
  await Promise.all(Array.from({ length: 20 }, () => room.call(connection())));
  assert.equal(server.seen("token").length, 2);
});

test("id and secret go into the body where the connection, or the authorization server, says so", async (t) => {
  const post = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
  const { room, server, connection } = await scene(t, { more: post });
  await room.call(connection({ ...OWN, scopes: ["one", "two"] }));
  const [request] = server.seen("token");
  assert.equal(request?.headers.authorization, undefined);
  assert.equal(request?.form.get("client_id"), ENV.CRM_ID);
  assert.equal(request?.form.get("client_secret"), ENV.CRM_SECRET);
  assert.equal(request?.form.get("scope"), "one two");
  server.behaviour.more = {};
  await room.call(connection({ ...OWN, scopes: ["three"], authentication: "body" }));
  assert.equal(server.seen("token")[1]?.form.get("client_secret"), ENV.CRM_SECRET);
});

for (const { name, pair, algorithm } of [
  { name: "an EC key", pair: generateKeyPairSync("ec", { namedCurve: "P-256" }), algorithm: undefined },
  { name: "an RSA key", pair: generateKeyPairSync("rsa", { modulusLength: 2048 }), algorithm: "RS256" },
]) {
  test(`the client proves itself by an assertion with ${name}, a new one for each request`, async (t) => {
    const { room, server, connection } = await scene(t, { clients: { signer: { publicKey: pair.publicKey } } });
    const pem = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const values = { client_id: "signer", private_key: pem };
    const { organizationId } = connection();
    await room.stored.set({ organizationId, name: "crm", values, by: "test" });
    const auth: Partial<AuthConfig> = algorithm === undefined ? {} : { algorithm };
    await room.call(connection(auth));
    room.time.now += 3600_000;
    await room.call(connection(auth));
    const assertions = server.seen("token").map(({ form }) => form.get("client_assertion"));
    assert.equal(new Set(assertions).size, 2);
    for (const { form, headers } of server.seen("token")) {
      assert.equal(headers.authorization, undefined);
      assert.equal(form.has("client_secret"), false);
      assert.ok(!form.toString().includes("PRIVATE"));
    }
  });
}

test("a token that the service refuses is minted again once", async (t) => {
  const { room, server, upstream, connection } = await scene(t);
  await room.call(connection());
  const account = await room.accounts.find(connection().id, DEPLOYMENT_KEY);
  server.grants.expire((account && room.accounts.tokens(account)?.accessToken) ?? "");
  await room.call(connection());
  assert.equal(server.seen("token").length, 2);
  upstream.needs.refuseAll = true;
  for (const _ of [1, 2]) {
    const failure = await room.call(connection()).catch((error: unknown) => error);
    assert.ok(failure instanceof UpstreamError, String(failure));
    assert.equal(failure.code, "authentication_required");
  }
  assert.equal(server.seen("token").length, 2, "what was minted a moment ago is not minted again");
});

test("missing scopes are minted where the operator left the choice to the service", async (t) => {
  const { room, server, upstream, connection } = await scene(t, {}, { scope: "read" });
  await room.call(connection());
  upstream.needs.scope = "read write";
  await room.call(connection());
  assert.equal(server.seen("token")[1]?.form.get("scope"), "read write");
});

test("without a client, or with a wrong one, it says what to set, and the service sees no token", async (t) => {
  const { room, server, upstream, connection } = await scene(t);
  const nothing = await room.call(connection({})).catch((error: unknown) => error);
  assert.ok(nothing instanceof JackfieldError);
  assert.equal(nothing.code, "authorization_required");
  assert.match(nothing.message, /client_id and client_secret \(or private_key\) of the credential crm/);
  const unset = connection({ clientIdEnv: "CRM_ID", secretEnv: "NO_SUCH_SECRET" });
  await assert.rejects(room.call(unset), { code: "missing_variable", message: "Missing NO_SUCH_SECRET" });
  server.clients.set(ENV.CRM_ID, { secret: "another" });
  const wrong = await room.call(connection()).catch((error: unknown) => error);
  assert.ok(wrong instanceof UpstreamError, String(wrong));
  assert.equal(wrong.code, "authentication_required");
  assert.match(wrong.message, /invalid_client/);
  assert.deepEqual(upstream.presented.filter(Boolean), []);
});

test("a secret goes to the authorization server it was first used at, until it is entered anew", async (t) => {
  const { room, server, upstream, connection } = await scene(t);
  const { organizationId } = connection();
  const values = { client_id: ENV.CRM_ID, client_secret: ENV.CRM_SECRET };
  const set = () => room.stored.set({ organizationId, name: "crm", values, by: "test" });
  await set();
  await room.call(connection({}));
  // The service comes to name somebody else, who would like to have the secret.
  const thief = await startAuthorizationServer({ clients: { [ENV.CRM_ID]: {} }, clock: () => room.time.now });
  t.after(() => thief.close());
  upstream.follow(thief);
  room.time.now += 3600_000;
  const refusal = await room.call(connection({})).catch((error: unknown) => error);
  assert.ok(refusal instanceof JackfieldError, String(refusal));
  assert.match(refusal.message, /names another authorization server than before/);
  assert.equal(thief.seen("token").length, 0);
  assert.equal(server.seen("token").length, 1);
  await set();
  await room.call(connection({}));
  assert.equal(thief.seen("token").length, 1);
});

test("the token is used on while the authorization server is away, and not a moment longer", async (t) => {
  const { room, server, connection } = await scene(t);
  await room.call(connection());
  server.fail("token", { status: 503 });
  room.time.now += 3600_000 * 0.9;
  await room.call(connection());
  room.time.now += 3600_000 * 0.2;
  await assert.rejects(room.call(connection()), { code: "upstream_unreachable" });
  server.recover("token");
  room.time.now += 60_000;
  await room.call(connection());
});
