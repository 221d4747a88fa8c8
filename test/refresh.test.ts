import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { UpstreamError } from "../adapters/contract.ts";
import type { ServedConnection } from "../server/connections/types.ts";
import { JackfieldError } from "../server/errors.ts";
import { refreshTime } from "../server/signin/accounts.ts";
import { DEPLOYMENT_KEY } from "../server/signin/types.ts";
import { type AccountRoom, openAccountRoom, servedConnection, signIn } from "./fixtures/account-room.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./fixtures/authorization-server.ts";
import type { CallingProcess } from "./fixtures/calling-process.ts";
import { type DatabasePlace, databases, sqlite, type TestDatabase } from "./fixtures/databases.ts";
import { type ProtectedUpstream, startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

interface Scene {
  place: DatabasePlace;
  room: AccountRoom;
  server: AuthorizationServer;
  upstream: ProtectedUpstream;
  connection: ServedConnection;
}

/** An account that is signed in; time is common to the proxy and the authorization server. */
async function scene(t: TestContext, options: { refresh?: boolean; database?: TestDatabase } = {}): Promise<Scene> {
  const place = await (options.database ?? sqlite).place(t);
  const room = await openAccountRoom({ place });
  const server = await startAuthorizationServer({ clock: () => room.time.now });
  const upstream = await startProtectedUpstream(server);
  t.after(async () => {
    await room.close();
    await upstream.close();
    await server.close();
  });
  const connection = servedConnection({ url: upstream.url });
  await signIn(room, server, connection, options);
  return { place, room, server, upstream, connection };
}

const account = async ({ room, connection }: Scene) => {
  const found = await room.accounts.find(connection.id, DEPLOYMENT_KEY);
  assert.ok(found);
  return found;
};

const HOUR = 3600_000;

test("50 parallel calls right after expiry make one token request and all succeed", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  await room.call(connection);
  room.time.now += HOUR + 1;
  const before = await account(all);
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => room.call(connection)));
  assert.equal(outcomes.length, 50);
  assert.equal(server.seen("token").length, 1);
  const after = await account(all);
  assert.equal(after.id, before.id);
  assert.equal(after.version, before.version + 1);
  assert.equal(after.refreshingSince, null);
  // Again: what was rotated once is rotated from what was kept.
  room.time.now += HOUR + 1;
  await Promise.all(Array.from({ length: 50 }, () => room.call(connection)));
  assert.equal(server.seen("token").length, 2);
});

test("two processes on one database make one token request between them", async (t) => {
  const all = await scene(t);
  const { room, server, upstream } = all;
  room.time.now += HOUR + 1;
  const task: CallingProcess = { place: all.place, url: upstream.url, now: room.time.now, calls: 25 };
  // Slow enough that the other process comes while the answer is still on its way.
  server.behaviour.pause = async (endpoint) => (endpoint === "token" ? delay(500) : undefined);
  const processes = await Promise.all([startCalling(t, task), startCalling(t, task)]);
  const results = await Promise.all(processes.map((begin) => begin()));
  assert.deepEqual(results, [
    { successes: 25, failures: [] },
    { successes: 25, failures: [] },
  ]);
  assert.equal(server.seen("token").length, 1);
});

test("a token endpoint that fails ends no account, and the old token is used until it expires", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  const before = await account(all);
  server.fail("token", { status: 503 });
  room.time.now += HOUR * 0.9;
  await Promise.all(Array.from({ length: 20 }, () => room.call(connection)));
  assert.equal(server.seen("token").length, 1, "it backs off");
  room.time.now += HOUR * 0.2;
  const failure = await room.call(connection).catch((error: unknown) => error);
  assert.ok(failure instanceof UpstreamError, String(failure));
  assert.equal(failure.code, "upstream_unreachable");
  assert.equal(failure.processed, "no");
  assert.match(failure.message, /is kept/);
  const kept = await account(all);
  assert.deepEqual([kept.state, kept.version, kept.sealedTokens], ["connected", before.version, before.sealedTokens]);
  server.recover("token");
  room.time.now += 60_000;
  await room.call(connection);
  assert.equal((await account(all)).version, before.version + 1);
});

test("an answer that breaks off, that is no token, or that leads elsewhere ends no account either", async (t) => {
  const all = await scene(t);
  const { room, server, upstream, connection } = all;
  const answers: NonNullable<AuthorizationServer["behaviour"]["shape"]>[] = [
    () => ({ type: "text/html", body: "<html>Welcome to our hotel's network</html>" }),
    () => ({ type: "application/json", body: "{}" }),
    () => ({ type: "application/json", body: '{"access_token":"line\\nbreak"}' }),
    () => ({ type: "application/json", body: `{"access_token":"${"x".repeat(70_000)}"}` }),
  ];
  server.behaviour.rotates = false;
  for (const shape of answers) {
    room.time.now += 2 * HOUR;
    server.behaviour.shape = shape;
    await assert.rejects(room.call(connection), { code: "upstream_unreachable" });
    assert.equal((await account(all)).state, "connected");
  }
  server.behaviour.shape = undefined;
  room.time.now += 2 * HOUR;
  await room.call(connection);
  assert.ok(upstream.calls.length > 0);
});

test("invalid_grant ends the account: its tokens are gone and a sign-in is asked for, with one request", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  const before = await account(all);
  server.grants.revoke(room.accounts.tokens(before)?.refreshToken ?? "");
  room.time.now += HOUR + 1;
  const settled = await Promise.allSettled(Array.from({ length: 10 }, () => room.call(connection)));
  for (const one of settled) {
    assert.equal(one.status, "rejected");
    assert.ok(one.reason instanceof JackfieldError, String(one.reason));
    assert.equal(one.reason.code, "authorization_required");
  }
  assert.equal(server.seen("token").length, 1);
  const ended = await account(all);
  assert.deepEqual([ended.state, ended.endedReason, ended.sealedTokens], ["needs_sign_in", "invalid_grant", null]);
  assert.equal(await room.accounts.connected(connection.id, DEPLOYMENT_KEY), false);
  // Signing in again keeps the account.
  const again = await signIn(room, server, connection);
  assert.equal(again.id, before.id);
  await room.call(connection);
});

test("a client that the authorization server forgot is registered anew with the next sign-in", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  server.clients.clear();
  room.time.now += HOUR + 1;
  await assert.rejects(room.call(connection), { code: "authorization_required" });
  const { endedReason, registrationId } = await account(all);
  assert.equal(endedReason, "invalid_client");
  assert.equal(await room.registrations.find(registrationId ?? ""), undefined);
});

test("a token that the service refuses is renewed once, and the call goes through", async (t) => {
  const all = await scene(t);
  const { room, server, upstream, connection } = all;
  await room.call(connection);
  server.grants.expire(room.accounts.tokens(await account(all))?.accessToken ?? "");
  upstream.calls.length = 0;
  await Promise.all(Array.from({ length: 20 }, () => room.call(connection)));
  assert.equal(server.seen("token").length, 1);
  assert.equal(upstream.calls.length, 20, "every call was made once");
});

test("a service that refuses what was renewed a moment ago needs a new sign-in, without a loop", async (t) => {
  const all = await scene(t);
  const { room, server, upstream, connection } = all;
  await room.call(connection);
  upstream.needs.refuseAll = true;
  upstream.presented.length = 0;
  await assert.rejects(room.call(connection), { code: "authorization_required" });
  assert.equal(server.seen("token").length, 1);
  assert.equal(upstream.presented.length, 2);
  assert.equal((await account(all)).endedReason, "refused");
});

test("without a refresh token an account lasts as long as its token", async (t) => {
  const all = await scene(t, { refresh: false });
  const { room, server, connection } = all;
  room.time.now += HOUR * 0.95;
  await room.call(connection);
  room.time.now += HOUR * 0.1;
  await assert.rejects(room.call(connection), { code: "authorization_required" });
  assert.equal(server.seen("token").length, 0);
  assert.equal((await account(all)).endedReason, "expired");
});

test("a crash between the token request and its writing is tried once more, then it needs a sign-in", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  const before = await account(all);
  // What a process leaves behind that died with the new tokens in its hands.
  room.time.now += HOUR + 1;
  assert.ok(await room.accounts.mark(before));
  server.grants.redeemRefresh(room.accounts.tokens(before)?.refreshToken ?? "", "client-of-the-test");
  room.time.now += 31_000;
  await assert.rejects(room.call(connection), { code: "authorization_required" });
  assert.equal(server.seen("token").length, 1);
  assert.equal((await account(all)).endedReason, "invalid_grant");
});

test("a crash before the token request loses nothing", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  room.time.now += HOUR + 1;
  assert.ok(await room.accounts.mark(await account(all)));
  room.time.now += 31_000;
  await room.call(connection);
  assert.equal(server.seen("token").length, 1);
});

test("whoever finds a refresh under way elsewhere waits for it", async (t) => {
  const all = await scene(t);
  const { room, server, connection } = all;
  room.time.now += HOUR + 1;
  const before = await account(all);
  assert.ok(await room.accounts.mark(before));
  const calling = room.call(connection);
  const { access_token, refresh_token = "" } = server.grants.redeemRefresh(
    room.accounts.tokens(before)?.refreshToken ?? "",
    "client-of-the-test",
  );
  const tokens = { accessToken: access_token, refreshToken: refresh_token, expiresIn: 3600 };
  assert.ok(await room.accounts.rotate(before, tokens));
  await calling;
  assert.equal(server.seen("token").length, 0);
});

for (const database of databases) {
  test(`of two who begin a refresh, or write over the same version, one wins: ${database.name}`, {
    skip: database.skip,
  }, async (t) => {
    const all = await scene(t, { database });
    const { accounts } = all.room;
    const before = await account(all);
    const begun = await Promise.all([accounts.mark(before), accounts.mark(before)]);
    assert.deepEqual(begun.sort(), [false, true]);
    // A mark that was left behind is taken over by one only, too.
    const left = await account(all);
    all.room.time.now += 31_000;
    const taken = await Promise.all([accounts.mark(left), accounts.mark(left)]);
    assert.deepEqual(taken.sort(), [false, true]);
    const tokens = { accessToken: "one", refreshToken: "two", expiresIn: 60 };
    const written = await Promise.all([accounts.rotate(before, tokens), accounts.rotate(before, tokens)]);
    assert.deepEqual(written.sort(), [false, true]);
    assert.equal(await accounts.end(before, "invalid_grant"), false, "an ending of old tokens ends no new ones");
  });
}

test("tokens are renewed at 80 % of a long life and a minute before the end of a short one", () => {
  assert.equal(refreshTime(0, 3600), 2880_000);
  assert.equal(refreshTime(0, 300), 240_000);
  assert.equal(refreshTime(0, 200), 140_000);
  assert.equal(refreshTime(0, 60), 30_000, "never in the first half");
});

/** Starts a process and waits until it is ready; what is returned lets it begin and gives its results. */
async function startCalling(t: TestContext, task: CallingProcess): Promise<() => Promise<unknown>> {
  const script = fileURLToPath(new URL("./fixtures/calling-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(task)], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  const lines = createInterface({ input: child.stdout });
  const [ready] = await once(lines, "line");
  assert.equal(ready, "ready");
  return async () => {
    child.stdin.write("go\n");
    const [line] = await once(lines, "line");
    return JSON.parse(line);
  };
}
