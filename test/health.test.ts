import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createCatalogue } from "../server/connections/catalogue.ts";
import { checkConnection } from "../server/connections/check.ts";
import { changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connectionFile, openRooms } from "./fixtures/connection-rooms.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const FILE = ["auth: { method: bearer }", 'access: { read: { tools: ["*"] } }'];

/** A connection `a` whose service lets in who sends `right`, and says of others that it does not know them. */
async function opened(context: TestContext) {
  const upstream = await changingUpstream(context, [tool("find")]);
  const rooms = await openRooms(context, { "connections/a.yml": connectionFile(upstream.url, ...FILE) });
  const { store, connection, credentials } = rooms;
  upstream.admit = ({ headers }) =>
    headers.authorization === "Bearer right" ? undefined : { status: 401, body: '{"message":"I do not know you"}' };
  const { id, organizationId } = connection("a");
  const state = async () => {
    const row = await store.models.connectionStates.findByPk(id);
    return { health: row?.health, code: row?.healthCode, says: row?.healthMessage, at: row?.checkedAt?.getTime() };
  };
  const set = (secret: string) => credentials.set({ organizationId, name: "a", values: { secret }, by: "test" });
  return { ...rooms, upstream, organizationId, state, set };
}

/** Resolves when what the registry and the catalogue do by themselves after a change is over. */
async function settled({ registry, catalogue }: Pick<Awaited<ReturnType<typeof opened>>, "registry" | "catalogue">) {
  await registry.reload();
  await catalogue.idle();
}

test("a connection is untested without its credential, and tested when that is set, changed or deleted", async (t) => {
  const rooms = await opened(t);
  const { catalogue, state, set, time, credentials, organizationId } = rooms;
  await catalogue.start();
  assert.equal((await state()).health, "untested");

  await set("right");
  await settled(rooms);
  assert.deepEqual(await state(), {
    health: "healthy",
    code: null,
    says: "changing 1.0.0 (MCP 2025-11-25)",
    at: time.now,
  });

  time.now += 5_000;
  await set("wrong");
  await settled(rooms);
  assert.deepEqual(await state(), {
    health: "unhealthy",
    code: "authentication_required",
    says: "The service requires authentication: I do not know you",
    at: time.now,
  });

  time.now += 60_000;
  await set("right");
  await settled(rooms);
  assert.equal((await state()).health, "healthy");
  await credentials.delete(organizationId, "a");
  await settled(rooms);
  assert.deepEqual([(await state()).health, (await state()).says], ["untested", null]);
});

test("a service that is out of order is told apart from one that wants to know who asks", async (t) => {
  const { store, sessions, connection, upstream, set, state, time, registry } = await opened(t);
  const clock = () => time.now;
  await set("right");
  await registry.reload();
  assert.equal((await checkConnection({ store, sessions, clock }, connection("a"))).state, "healthy");
  upstream.failWith = 503;
  const broken = await checkConnection({ store, sessions, clock }, connection("a"));
  assert.deepEqual(broken, {
    state: "unhealthy",
    code: "upstream_status",
    message: "The service answered HTTP 503: out of order",
  });
  assert.deepEqual([(await state()).health, (await state()).says], ["unhealthy", broken.message]);
  upstream.failWith = undefined;
  assert.equal((await checkConnection({ store, sessions, clock }, connection("a"))).state, "healthy");
});

test("a new label tests nothing, a new address does", async (t) => {
  const rooms = await opened(t);
  const { catalogue, set, upstream, dir, publish, connection, state, time } = rooms;
  await set("right");
  await rooms.registry.reload();
  await catalogue.start();
  const asked = upstream.requests.length;
  const checkedAt = (await state()).at;
  time.now += 5_000;
  dir.write({ "connections/a.yml": connectionFile(upstream.url, ...FILE, "label: Renamed") });
  await publish();
  await settled(rooms);
  assert.equal(connection("a").label, "Renamed");
  assert.equal(upstream.requests.length, asked);
  assert.equal((await state()).at, checkedAt);

  dir.write({ "connections/a.yml": connectionFile(`${upstream.url}?project=web`, ...FILE) });
  await publish();
  await settled(rooms);
  assert.equal((await state()).at, time.now);
});

test("of several processes one does the routine test, and the others leave it out", async (t) => {
  const { set, registry, store, shared, sessions, upstream, catalogue } = await opened(t);
  await set("right");
  await registry.reload();
  const everyMs = 200;
  const { bus, locks } = shared;
  const processes = [1, 2, 3].map(() =>
    createCatalogue({ store, bus, locks, registry, sessions, log: silentLog, everyMs }),
  );
  await catalogue.close();
  await processes[0]?.start();
  const first = upstream.listed;
  const started = performance.now();
  await Promise.all(processes.slice(1).map((each) => each.start()));
  const atStart = upstream.listed;
  const rounds = 4;
  await new Promise<void>((resolve) => {
    upstream.admit = () => {
      if (upstream.listed >= atStart + rounds) resolve();
      return undefined;
    };
  });
  // Timers never fire early: three processes that each had their own would be through in a third of the time.
  const least = (rounds - 1) * everyMs;
  assert.ok(performance.now() - started >= least, `${upstream.listed - first} readings in too short a time`);
  await Promise.all(processes.map((each) => each.close()));
});
