import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AdapterSession } from "../adapters/contract.ts";
import { createStoredCredentials } from "../server/connections/stored-credentials.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { createSqlSecrets } from "../server/vault/sql.ts";
import { createVault } from "../server/vault/vault.ts";
import { testCall } from "./contract/adapter.ts";
import { type ChangingUpstream, changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connectionFile, openRooms, type Rooms } from "./fixtures/connection-rooms.ts";

const BEARER = "auth: { method: bearer }";
const NONE: Record<string, string> = {};

/** A connection `a` with these lines in its file, and what its service saw. */
async function opened(
  context: TestContext,
  lines: readonly string[],
  env = NONE,
): Promise<
  Rooms & { upstream: ChangingUpstream; organizationId: string; last(): ChangingUpstream["requests"][number] }
> {
  const upstream = await changingUpstream(context, [tool("a")]);
  const rooms = await openRooms(context, { "connections/a.yml": connectionFile(upstream.url, ...lines) }, env);
  const { organizationId } = rooms.connection("a");
  const last = () => {
    const request = upstream.requests.at(-1);
    assert.ok(request, "nothing arrived");
    return request;
  };
  return { ...rooms, upstream, organizationId, last };
}

const list = (session: AdapterSession) => session.listTools();
const secret = (value: string) => ({ values: { secret: value }, by: "test" });

test("a bearer token and an API key are sent where the connection says, exactly as they are stored", async (context) => {
  const places: [string, (request: ChangingUpstream["requests"][number]) => unknown, string][] = [
    [BEARER, ({ headers }) => headers.authorization, "Bearer s3cret value"],
    ["auth: { method: api_key, name: X-API-Key }", ({ headers }) => headers["x-api-key"], "s3cret value"],
    ["auth: { method: api_key, name: Authorization }", ({ headers }) => headers.authorization, "s3cret value"],
    ["auth: { method: api_key, in: query, name: key }", ({ url }) => url.searchParams.get("key"), "s3cret value"],
  ];
  for (const [auth, read, expected] of places) {
    const { sessions, connection, credentials, organizationId, last } = await opened(context, [auth]);
    await credentials.set({ organizationId, name: "a", ...secret("s3cret value") });
    await sessions.use(connection("a"), undefined, list);
    assert.equal(read(last()), expected, auth);
  }
});

test("a connection uses the credential it names, and the variable where its file gives one", async (context) => {
  const named = await opened(context, [BEARER, "credential: shared"]);
  await named.credentials.set({ organizationId: named.organizationId, name: "a", ...secret("of-the-slug") });
  await named.credentials.set({ organizationId: named.organizationId, name: "shared", ...secret("of-the-name") });
  await named.sessions.use(named.connection("a"), undefined, list);
  assert.equal(named.last().headers.authorization, "Bearer of-the-name");

  const variable = await opened(context, [`auth: { method: bearer, secret: '\${env:A_TOKEN}' }`], {
    A_TOKEN: "of-env",
  });
  await variable.credentials.set({ organizationId: variable.organizationId, name: "a", ...secret("of-the-slug") });
  await variable.sessions.use(variable.connection("a"), undefined, list);
  assert.equal(variable.last().headers.authorization, "Bearer of-env");
});

test("without its credential a connection asks for one, and reaches no service", async (context) => {
  const { sessions, connection, upstream } = await opened(context, [BEARER]);
  assert.equal(connection("a").state, "needsAuthorization");
  await assert.rejects(sessions.use(connection("a"), undefined, list), {
    code: "authorization_required",
    message: /credential set a/,
  });
  assert.deepEqual(upstream.requests, []);
});

test("a credential that is set, changed or deleted counts for the very next request", async (context) => {
  const { sessions, connection, credentials, registry, organizationId, last, store, time } = await opened(context, [
    BEARER,
  ]);
  const use = () => sessions.use(connection("a"), undefined, list);
  const first = await credentials.set({ organizationId, name: "a", ...secret("first") });
  await use();
  assert.equal(last().headers.authorization, "Bearer first");
  const second = await credentials.set({ organizationId, name: "a", ...secret("second") });
  assert.equal(second.id, first.id);
  assert.notEqual(second.revision, first.revision);
  await use();
  assert.equal(last().headers.authorization, "Bearer second");

  await registry.reload();
  assert.equal(connection("a").credentialRevision, second.revision);
  assert.notEqual(connection("a").state, "needsAuthorization");
  assert.equal(await credentials.delete(organizationId, "a"), true);
  await assert.rejects(use(), { code: "authorization_required" });
  time.now += 60_000;
  await assert.rejects(use(), { code: "authorization_required" });
  assert.equal(await store.models.secrets.count(), 0);
  assert.equal(await credentials.delete(organizationId, "a"), false);
  await registry.reload();
  assert.equal(connection("a").state, "needsAuthorization");
});

test("a new credential gets a session of its own", async (context) => {
  const { sessions, connection, credentials, registry, organizationId } = await opened(context, [BEARER]);
  const use = () => sessions.use(connection("a"), undefined, async (session) => session);
  await credentials.set({ organizationId, name: "a", ...secret("first") });
  await registry.reload();
  const session = await use();
  assert.equal(await use(), session);
  await credentials.set({ organizationId, name: "a", ...secret("second") });
  await registry.reload();
  assert.notEqual(await use(), session);
});

test("where the message of a change was lost, the refusal of the old value finds the new one", async (context) => {
  const { sessions, connection, credentials, organizationId, upstream, store, registry } = await opened(context, [
    BEARER,
  ]);
  await credentials.set({ organizationId, name: "a", ...secret("old-value") });
  await registry.reload();
  await sessions.use(connection("a"), undefined, list);

  const elsewhere = createStoredCredentials({
    store,
    vault: createVault(keyringOf(Buffer.alloc(32, 7)), createSqlSecrets(store)),
    bus: { publish: async () => undefined, subscribe: () => () => undefined, close: async () => undefined },
    clock: Date.now,
  });
  await elsewhere.set({ organizationId, name: "a", ...secret("new-value") });
  upstream.admit = ({ headers }) =>
    headers.authorization === "Bearer new-value" ? undefined : { status: 401, body: "the token was revoked" };
  upstream.requests.length = 0;
  await sessions.use(connection("a"), undefined, list);
  assert.deepEqual(
    upstream.requests.map(({ headers }) => headers.authorization),
    ["Bearer old-value", "Bearer new-value"],
  );
});

test("a value that no header can carry is told as such, and never quoted", async (context) => {
  const { sessions, connection, credentials, organizationId } = await opened(context, [BEARER]);
  for (const value of ["two\nlines-canary", " canary-with-a-blank", "canary-ü"]) {
    await credentials.set({ organizationId, name: "a", ...secret(value) });
    await assert.rejects(sessions.use(connection("a"), undefined, list), (error: Error) => {
      assert.equal(Reflect.get(error, "code"), "credential_unreadable");
      assert.doesNotMatch(`${error.stack}`, /canary/);
      return true;
    });
  }
});

test("a sealed value in another row, or under another key, is no credential", async (context) => {
  const { sessions, connection, credentials, organizationId, store, time, upstream } = await opened(context, [BEARER]);
  const { id } = await credentials.set({ organizationId, name: "a", ...secret("of-a") });
  const other = await credentials.set({ organizationId, name: "b", ...secret("of-b") });
  const use = () => sessions.use(connection("a"), undefined, list);
  const sealedOf = async (owner: string) => (await store.models.secrets.findOne({ where: { owner } }))?.sealed ?? "";
  const own = await sealedOf(id);

  await store.models.secrets.update({ sealed: await sealedOf(other.id) }, { where: { owner: id } });
  time.now += 60_000;
  await assert.rejects(use(), { code: "credential_unreadable", message: /must set it again/ });
  assert.deepEqual(upstream.requests, []);
  await store.models.secrets.update({ sealed: own }, { where: { owner: id } });
  time.now += 60_000;
  await use();

  const stranger = createVault(keyringOf(Buffer.alloc(32, 8)), createSqlSecrets(store));
  await stranger.put({ organizationId, owner: id, field: "secret" }, "of-a");
  time.now += 60_000;
  const reopened = await credentials.find(organizationId, "a");
  assert.throws(() => reopened?.value("secret"), { code: "credential_unreadable" });
});

test("names, fields and kinds of credentials are checked, and one kind does not become another", async (context) => {
  const { credentials, organizationId } = await opened(context, [BEARER]);
  const set = (name: string, values: Record<string, string>) =>
    credentials.set({ organizationId, name, values, by: "test" });
  for (const [name, values] of [
    ["Upper", { secret: "x" }],
    ["a", { "Bad-Field": "x" }],
    ["a", { secret: "" }],
    ["a", { secret: "x".repeat(70_000) }],
    ["a", { secret: "x", client_id: "y" }],
    ["a", NONE],
  ] as const) {
    await assert.rejects(set(name, values), { code: "invalid_credential" }, JSON.stringify(values).slice(0, 40));
  }
  await set("client", { client_id: "id" });
  await set("client", { client_secret: "secret" });
  assert.deepEqual(
    (await credentials.list(organizationId)).map(({ name, kind, fields }) => [name, kind, fields]),
    [["client", "client", ["client_id", "client_secret"]]],
  );
  await assert.rejects(set("client", { secret: "x" }), { code: "invalid_credential", message: /an OAuth client/ });
  assert.equal(await credentials.freeName(organizationId, "other"), "other");
  assert.equal(await credentials.freeName(organizationId, "client"), "client-2");
});

test("a service that tells a credential back gets it taken out, in results, errors and messages", async (context) => {
  const { sessions, connection, credentials, organizationId, upstream } = await opened(context, [BEARER]);
  await credentials.set({ organizationId, name: "a", ...secret("canary/with=signs") });
  upstream.answer = () => `you sent ${upstream.requests.at(-1)?.headers.authorization}, canary%2Fwith%3Dsigns`;
  const call = testCall();
  const use = () => sessions.use(connection("a"), undefined, (session) => session.callTool("a", {}, call));
  const outcome = await use();
  assert.deepEqual(outcome.kind === "result" && outcome.result["content"], [
    { type: "text", text: "you sent Bearer [secret], [secret]" },
  ]);
  for (const status of [401, 403, 429, 500]) {
    upstream.admit = ({ headers }) => ({ status, body: `no: ${headers.authorization}` });
    await assert.rejects(use(), (error: Error) => {
      assert.doesNotMatch(`${error.stack}${error.message}${error.cause}`, /canary/);
      return true;
    });
  }
});
