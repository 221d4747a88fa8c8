/** Tasks that are kept for callers, and how an upstream tells that one went on. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deskRoom } from "./fixtures/a2a/desk.ts";
import { databases } from "./fixtures/databases.ts";

const DAY = 24 * 3_600_000;
const TASK = { kind: "task" as const, identity: "upstream-1", state: { taskId: "upstream-1", note: "sealed words" } };

for (const database of databases) {
  describe(`task desk on ${database.name}`, { skip: database.skip }, () => {
    test("a handle brings back what was kept, for this principal at this connection only", async (t) => {
      const { desk, store } = await deskRoom(t, database);
      const kept = await desk().keep(TASK);
      assert.deepEqual((await desk().find("task", kept.handle))?.state, TASK.state);
      assert.equal(await desk({ principal: "b" }).find("task", kept.handle), undefined);
      assert.equal(await desk({ connection: "01ARZ3NDEKTSV4RRFFQ69G5FAV" }).find("task", kept.handle), undefined);
      assert.equal(await desk().find("context", kept.handle), undefined);
      const [row] = await store.models.upstreamTasks.findAll();
      assert.doesNotMatch(JSON.stringify(row), /sealed words|upstream-1/);
    });

    test("the same task has the same handle, however many keep it at once", async (t) => {
      const { desk } = await deskRoom(t, database);
      const all = await Promise.all(Array.from({ length: 8 }, () => desk().keep(TASK)));
      assert.equal(new Set(all.map(({ handle }) => handle)).size, 1);
      const again = await desk().keep({ ...TASK, state: { taskId: "upstream-1", turn: 2 } });
      assert.equal(again.handle, all[0]?.handle);
      assert.deepEqual((await desk().find("task", again.handle))?.state, { taskId: "upstream-1", turn: 2 });
      assert.notEqual((await desk({ principal: "b" }).keep(TASK)).handle, again.handle);
    });

    test("a row that was moved to another principal does not open", async (t) => {
      const { desk, store } = await deskRoom(t, database);
      const { handle } = await desk().keep(TASK);
      await store.models.upstreamTasks.update({ principalKey: "b".repeat(64) }, { where: { id: handle } });
      assert.equal(await desk({ principal: "b" }).find("task", handle), undefined);
    });

    test("a task is forgotten thirty days after it was used last", async (t) => {
      const { desk, time } = await deskRoom(t, database);
      const { handle } = await desk().keep(TASK);
      time.now += 29 * DAY;
      assert.ok(await desk().find("task", handle));
      time.now += 29 * DAY;
      assert.ok(await desk().find("task", handle));
      time.now += 31 * DAY;
      assert.equal(await desk().find("task", handle), undefined);
    });

    test("who shows the task's secret wakes whoever waits for it", async (t) => {
      const { desk, desks } = await deskRoom(t, database);
      const own = desk();
      const task = await own.keep(TASK);
      assert.equal(await desks.tell(task.handle, "anything"), false, "no secret was given out yet");
      const { url, secret } = await own.callback(task);
      assert.equal(url, `https://jackfield.example/tasks/callback/${task.handle}`);
      const wait = new AbortController();
      const woken = own.told(task, wait.signal);
      assert.equal(await desks.tell(task.handle, `${secret}x`), false);
      assert.equal(await desks.tell("01ARZ3NDEKTSV4RRFFQ69G5FAV", secret), false);
      assert.equal(await desks.tell("no handle", secret), false);
      assert.equal(await desks.tell(task.handle, secret), true);
      await woken;
      assert.equal(wait.signal.aborted, false);
      const { secret: next } = await own.callback(task);
      assert.notEqual(next, secret);
      assert.equal(await desks.tell(task.handle, secret), false, "the old one is worth nothing");
    });

    test("what was told before anybody waited is not lost; without it the signal ends the waiting", async (t) => {
      const { desk, desks } = await deskRoom(t, database);
      const own = desk();
      const task = await own.keep(TASK);
      const { secret } = await own.callback(task);
      await desks.tell(task.handle, secret);
      await own.told(task, new AbortController().signal);
      const wait = new AbortController();
      const second = own.told(task, wait.signal);
      wait.abort();
      await second;
    });
  });
}
