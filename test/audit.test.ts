import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type AuditEvent, createAudit } from "../server/observe/audit.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { databases, storeFor, type TestDatabase } from "./fixtures/databases.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const START = Date.UTC(2026, 10, 30, 12);

const event: AuditEvent = {
  organizationId: "01M8PZ2C84988TERB0BA6W9HNE",
  principalKind: "agent",
  principalIssuer: "urn:jackfield:agents",
  principalSubject: "01M8PZ2C84988TERB0BA6W9HNF",
  principalName: "night-agent",
  door: "tool_write",
  toolName: "files__write",
  class: "write",
  decision: "allow",
  rule: "reviewed",
};

async function room(t: TestContext, database?: TestDatabase) {
  const store = await storeFor(t, database);
  const errors: string[] = [];
  const time = { now: START };
  const audit = createAudit({
    store,
    keyring: keyringOf(Buffer.alloc(32, 7)),
    log: { ...silentLog, error: (_, message) => errors.push(message) },
    clock: () => time.now,
  });
  t.after(() => audit.close());
  return { store, audit, errors, time };
}

for (const database of databases) {
  test(`a write is on record before it happens, and its outcome after it (${database.name})`, {
    skip: database.skip,
  }, async (t) => {
    const { audit } = await room(t, database);
    const handle = await audit.begin({ ...event, argumentsDigest: audit.digest({ path: "a" }) });
    const [intent] = await audit.tail();
    assert.equal(intent?.outcome, "outcome_unknown", "what never ended reads so");
    assert.equal(intent?.toolName, "files__write");
    assert.equal(intent?.at.getTime(), START);
    await audit.finish(handle, { outcome: "tool_error", outcomeCode: "upstream_status", durationMs: 12 });
    const [ended] = await audit.tail();
    assert.deepEqual([ended?.outcome, ended?.outcomeCode, ended?.durationMs], ["tool_error", "upstream_status", 12]);
  });
}

test("reads and refusals are written together, in the order in which they happened", async (t) => {
  const { audit, time } = await room(t);
  audit.record({ ...event, door: "tool_read", class: "read", outcome: "ok", durationMs: 3 });
  audit.refused({ ...event, decision: "refuse", rule: "guard", reason: "to is not allowed" });
  time.now += 5;
  audit.record({ ...event, toolName: null, door: "resource", outcome: "cancelled" });
  await audit.flush();
  const events = await audit.tail();
  assert.deepEqual(
    events.map(({ door, outcome, at }) => [door, outcome, at.getTime() - START]),
    [
      ["tool_read", "ok", 0],
      ["tool_write", "refused", 0],
      ["resource", "cancelled", 5],
    ],
  );
  assert.equal(events[1]?.reason, "to is not allowed");
});

test("what was noted is written without being asked for, and when the audit closes", async (t) => {
  const { audit, store } = await room(t);
  audit.record({ ...event, outcome: "ok" });
  while ((await store.models.auditEvents.count()) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  audit.record({ ...event, outcome: "ok" });
  await audit.close();
  assert.equal(await store.models.auditEvents.count(), 2);
});

test("events are kept while the database fails, and written when it is back", async (t) => {
  const { audit, store, errors } = await room(t);
  await store.sequelize.query("ALTER TABLE audit_events RENAME TO gone");
  for (let number = 0; number < 250; number += 1) audit.record({ ...event, outcome: "ok" });
  await audit.flush();
  assert.ok(errors.length > 0);
  await assert.rejects(audit.begin(event), "a write whose intent cannot be recorded must not happen");
  await store.sequelize.query("ALTER TABLE gone RENAME TO audit_events");
  await audit.flush();
  assert.equal(await store.models.auditEvents.count(), 250);
});

test("an outcome is recorded once", async (t) => {
  const { audit, errors } = await room(t);
  const handle = await audit.begin(event);
  await audit.finish(handle, { outcome: "ok", durationMs: 1 });
  await audit.finish(handle, { outcome: "error", durationMs: 2 });
  assert.equal((await audit.tail())[0]?.outcome, "ok");
  assert.equal(errors.length, 1);
});

test("a digest is the same for equal arguments, another for others, and another under another key", async (t) => {
  const { audit, store } = await room(t);
  const digest = audit.digest({ b: [1, { y: 1, x: "é" }], a: null });
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal(audit.digest({ a: null, b: [1, { x: "é", y: 1 }] }), digest);
  for (const other of [{ a: null, b: [{ x: "é", y: 1 }, 1] }, { a: null }, {}, [], null, undefined, "a"]) {
    assert.notEqual(audit.digest(other), digest, JSON.stringify(other));
  }
  const polluting = JSON.parse('{"__proto__": {"a": 1}}');
  assert.notEqual(audit.digest(polluting), audit.digest({}));
  const keyring = keyringOf(Buffer.alloc(32, 8));
  const elsewhere = createAudit({ store, keyring, log: silentLog, clock: Date.now });
  assert.notEqual(elsewhere.digest({ b: [1, { y: 1, x: "é" }], a: null }), digest);
});

test("the tail ends with the newest, filters and continues after an event", async (t) => {
  const { audit } = await room(t);
  const other = { ...event, organizationId: "01M8PZ2C84988TERB0BA6W9HNZ" };
  for (let number = 1; number <= 5; number += 1) audit.record({ ...event, durationMs: number, outcome: "ok" });
  audit.record({ ...other, durationMs: 6, outcome: "ok" });
  await audit.flush();
  const numbers = async (filter: Parameters<typeof audit.tail>[0]) =>
    (await audit.tail(filter)).map(({ durationMs }) => durationMs);
  assert.deepEqual(await numbers({ limit: 2 }), [5, 6]);
  assert.deepEqual(await numbers({ limit: 2, organizationId: event.organizationId }), [4, 5]);
  const [third] = await audit.tail({ limit: 4 });
  assert.deepEqual(await numbers({ afterId: third?.id ?? "" }), [4, 5, 6]);
});

test("a name that is too long is cut, not refused, and no character is cut in half", async (t) => {
  const { audit } = await room(t);
  audit.refused({ ...event, decision: "refuse", toolName: "\u{1F600}".repeat(400), reason: "r".repeat(70_000) });
  await audit.flush();
  const [row] = await audit.tail();
  assert.equal(row?.toolName, "\u{1F600}".repeat(255));
  assert.equal(row?.reason?.length, 70_000);
});
