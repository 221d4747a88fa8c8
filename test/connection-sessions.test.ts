import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../adapters/contract.ts";
import { createBackOff } from "../server/connections/back-off.ts";
import { changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connectionFile, openRooms } from "./fixtures/connection-rooms.ts";

test("all who ask for a connection at once share one session, and who comes later too", async (context) => {
  const upstream = await changingUpstream(context, [tool("a")]);
  const { sessions, connection } = await openRooms(context, { "connections/a.yml": connectionFile(upstream.url) });
  const use = () => sessions.use(connection("a"), undefined, async (session) => session);
  const opened = await Promise.all([use(), use(), use()]);
  assert.equal(new Set([...opened, await use()]).size, 1);
});

test("where the connection is each user's own, principals share no session", async (context) => {
  const upstream = await changingUpstream(context, [tool("a")]);
  const { sessions, connection } = await openRooms(context, {
    "connections/a.yml": connectionFile(upstream.url, "subject: user"),
  });
  const use = (principal: string) => sessions.use(connection("a"), principal, async (session) => session);
  const [anna, again, ben] = [await use("anna"), await use("anna"), await use("ben")];
  assert.equal(anna, again);
  assert.notEqual(anna, ben);
});

test("a changed configuration gets a session of its own, a changed label does not", async (context) => {
  const upstream = await changingUpstream(context, [tool("a")]);
  const file = connectionFile(upstream.url);
  const { sessions, connection, dir, publish, registry } = await openRooms(context, { "connections/a.yml": file });
  const use = () => sessions.use(connection("a"), undefined, async (session) => session);
  const first = await use();
  dir.write({ "connections/a.yml": `${file}  label: Other\n` });
  await publish();
  await registry.reload();
  assert.equal(await use(), first);
  dir.write({ "connections/a.yml": `${file}  headers: { X-Other: "1" }\n` });
  await publish();
  await registry.reload();
  sessions.retain(registry.connections());
  assert.notEqual(await use(), first);
});

test("a connection that cannot be opened is left alone for a while, and its failure told again", async (context) => {
  const upstream = await changingUpstream(context, [tool("a")]);
  upstream.failWith = 500;
  const { sessions, connection, time } = await openRooms(context, {
    "connections/a.yml": connectionFile(upstream.url),
  });
  const use = () => sessions.use(connection("a"), undefined, (session) => session.listTools());
  const failure = await use().catch((error: unknown) => error);
  assert.ok(failure instanceof UpstreamError);
  upstream.failWith = undefined;
  assert.equal(await use().catch((error: unknown) => error), failure);
  time.now += 1000;
  assert.deepEqual(
    (await use()).map(({ name }) => name),
    ["a"],
  );
});

test("the pause after failures doubles up to half a minute and ends with a success", () => {
  let now = 0;
  const backOff = createBackOff(() => now);
  const pauses: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    backOff.failed("a", new Error("down"));
    const start = now;
    for (;;) {
      try {
        backOff.check("a");
        break;
      } catch {
        now += 100;
      }
    }
    pauses.push(now - start);
  }
  assert.ok((pauses[0] ?? 0) <= 500 && (pauses[0] ?? 0) >= 300, String(pauses));
  assert.ok(
    pauses.every((pause) => pause <= 30_000),
    String(pauses),
  );
  assert.ok((pauses[9] ?? 0) > 20_000, String(pauses));
  backOff.failed("b", new Error("down"));
  backOff.check("a");
  backOff.succeeded("b");
  backOff.check("b");
});
