import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ulid } from "ulid";
import { SEALED_COLUMNS } from "../server/cli/sealed-columns.ts";
import { createAudit } from "../server/observe/audit.ts";
import { createCheckpoints } from "../server/observe/audit-checkpoints.ts";
import { signingKey } from "../server/observe/audit-keys.ts";
import { verifyAudit } from "../server/observe/audit-verify.ts";
import { openStore } from "../server/store/database.ts";
import { migrate } from "../server/store/migrate.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { createResealer } from "../server/vault/reseal.ts";
import { type AuditRoom, auditRoom, event, fill, MASTER_KEY, START } from "./fixtures/audit-room.ts";
import { runToEnd } from "./fixtures/command.ts";
import { type DatabasePlace, databases, temporaryDirectory } from "./fixtures/databases.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const DAY = 24 * 3_600_000;

async function idOf({ store }: AuditRoom, toolName: string): Promise<string> {
  const row = await store.models.auditEvents.findOne({ where: { toolName } });
  assert.ok(row, toolName);
  return row.id;
}

/** A chain of five rounds (15 links) that ended properly. */
async function written(t: TestContext, database = databases[0]): Promise<AuditRoom> {
  const room = await auditRoom(t, database);
  await fill(room, 5);
  await room.audit.close();
  return room;
}

for (const database of databases) {
  const options = { skip: database.skip };

  test(`what was written verifies, while it is open and when it is closed (${database.name})`, options, async (t) => {
    const room = await auditRoom(t, database);
    await fill(room, 3);
    const handle = await room.audit.begin({ ...event, reason: "pending \u{1F600} \uD800 \0 ", toolName: "pending" });
    const during = await room.verify();
    assert.deepEqual(during.lines, []);
    assert.deepEqual([during.events, during.chains], [7, 1]);
    await room.audit.finish(handle, { outcome: "tool_error", outcomeCode: "odd" });
    await room.audit.close();
    const after = await room.verify();
    assert.deepEqual(after.lines, []);
    assert.equal(after.checkpoints, 2, "opened and closed");
  });

  test(`any column of an event that is edited shows, and only that event (${database.name})`, options, async (t) => {
    const room = await written(t, database);
    const id = await idOf(room, "write 3");
    const edits = {
      ...{ at: "2026-11-30 12:00:01.000", organization_id: "01M8PZ2C84988TERB0BA6W9HNX", principal_name: "somebody" },
      ...{ principal_subject: "x", tool_name: "files__read", class: "read", decision: "refuse", rule: null },
      ...{
        reason: "because",
        arguments_digest: "0".repeat(64),
        door: "tool_read",
        action: "x",
        token_id: "0".repeat(26),
      },
      ...{ outcome: "error", outcome_code: "x", duration_ms: 11, hash: "1".repeat(64), end_hash: "1".repeat(64) },
      ...{ previous_hash: "1".repeat(64), end_previous_hash: "1".repeat(64) },
    };
    for (const [column, value] of Object.entries(edits)) {
      const before = (await room.store.models.auditEvents.findByPk(id))?.get({ plain: true });
      await room.sql(`UPDATE audit_events SET ${column} = ? WHERE id = ?`, value, id);
      const { lines } = await room.verify();
      assert.equal(lines.length, 1, `${column}: ${lines.join("; ")}`);
      assert.match(lines[0] ?? "", new RegExp(`^chain \\w{26}: link \\d+: the (event|outcome of event) ${id} is not`));
      await room.store.models.auditEvents.update({ ...before }, { where: { id } });
    }
    assert.deepEqual((await room.verify()).lines, [], "put back as it was");
  });

  test(`two processes write at once, each to its own chain (${database.name})`, options, async (t) => {
    const room = await auditRoom(t, database);
    await Promise.all([inProcess(room.store, "120"), inProcess(room.store, "120")]);
    const { lines, chains, events } = await room.verify();
    assert.deepEqual(lines, []);
    assert.deepEqual([chains, events], [2, 480]);
  });

  test(`a process that is killed in mid-write leaves a chain that verifies (${database.name})`, options, async (t) => {
    const room = await auditRoom(t, database);
    await assert.rejects(inProcess(room.store, "60", "crash"), { signal: "SIGKILL" });
    const { lines, events } = await room.verify();
    assert.deepEqual(lines, []);
    assert.ok(events >= 60, `${events}`);
    const open = await room.store.models.auditEvents.findAll({ where: { outcome: "open" } });
    assert.ok(
      open.some(({ toolName }) => toolName === "write 60"),
      "the intent is on record",
    );
  });

  test(`the retention removes whole chains, and what is left verifies (${database.name})`, options, async (t) => {
    const room = await auditRoom(t, database);
    await fill(room, 3);
    await room.audit.close();
    room.time.now = START + 20 * DAY;
    const { anchor } = await room.verify();
    await fill(room, 2);
    assert.equal(await room.sweeper.sweep(), 0, "nothing is 30 days old");
    room.time.now = START + 32 * DAY;
    assert.equal(await room.sweeper.sweep(), 6);
    await room.audit.close();
    const { lines, chains, events } = await room.verify(anchor);
    assert.deepEqual(lines, []);
    assert.deepEqual([chains, events], [1, 4]);
    assert.equal(await room.store.models.auditCheckpoints.count({ where: { number: 1 } }), 0, "old checkpoints go too");
    await room.sql("DELETE FROM audit_events WHERE tool_name = 'read 1'");
    assert.equal((await room.verify()).lines.length, 1, "what was removed by hand still shows");
  });
}

test("an event that is removed shows, with its outcome", async (t) => {
  const room = await written(t);
  await room.sql("DELETE FROM audit_events WHERE tool_name = 'read 3'");
  assert.match((await room.verify()).lines.join("; "), /^chain \w{26}: link \d+ is missing$/);
  await room.sql("DELETE FROM audit_events WHERE tool_name = 'write 2'");
  assert.equal((await room.verify()).lines.length, 3, "an intent and its outcome are two links");
});

test("a write whose outcome is taken back, or thought up, shows", async (t) => {
  const room = await written(t);
  await room.sql(
    `UPDATE audit_events SET outcome = 'open', duration_ms = NULL, end_sequence = NULL, end_hash = NULL,
     end_previous_hash = NULL WHERE tool_name = 'write 2'`,
  );
  assert.match((await room.verify()).lines.join("; "), /^chain \w{26}: link \d+ is missing$/);
  const other = await auditRoom(t);
  await other.audit.begin(event);
  await other.audit.close();
  await other.sql("UPDATE audit_events SET outcome = 'ok', duration_ms = 3");
  assert.match((await other.verify()).lines.join("; "), /is not as it was written$/);
});

test("events that change places show", async (t) => {
  const room = await written(t);
  const [a, b] = [await idOf(room, "read 2"), await idOf(room, "read 4")];
  const place = async (id: string) => {
    const row = await room.store.models.auditEvents.findByPk(id);
    return { sequence: row?.sequence ?? 0, previousHash: row?.previousHash ?? "", hash: row?.hash ?? "" };
  };
  const [placeOfA, placeOfB] = [await place(a), await place(b)];
  const { auditEvents } = room.store.models;
  await auditEvents.update({ sequence: null }, { where: { id: a } });
  await auditEvents.update(placeOfA, { where: { id: b } });
  await auditEvents.update(placeOfB, { where: { id: a } });
  const { lines } = await room.verify();
  assert.equal(lines.filter((line) => line.includes(a) || line.includes(b)).length, 2, lines.join("; "));
});

test("an event that is put in shows, wherever it says it belongs", async (t) => {
  const room = await written(t);
  const { auditEvents } = room.store.models;
  const template = (await auditEvents.findOne({ where: { toolName: "read 2" } }))?.get({ plain: true });
  assert.ok(template);
  const chainId = template.chainId ?? "";
  const forged = async (change: object) => {
    const id = "01ZZZZZZZZZZZZZZZZZZZZZZZZ";
    await auditEvents.create({ ...template, id, ...change });
    const { lines } = await room.verify();
    await auditEvents.destroy({ where: { id } });
    return lines.join("; ");
  };
  assert.match(await forged({ sequence: 16 }), /link 16: the event 01ZZ\w+ is not as it was written/);
  assert.match(await forged({ sequence: null }), /1 event is in the database without a place/);
  assert.match(await forged({ chainId: null, sequence: null }), /1 event is in the database without being in a chain/);
  assert.match(
    await forged({ chainId: "01M8PZ2C84988TERB0BA6W9HNX" }),
    /chain 01M8PZ2C84988TERB0BA6W9HNX: no checkpoint/,
  );
  assert.deepEqual((await room.verify()).lines, [], chainId);
});

test("an end that is cut off shows, also when its checkpoints go with it", async (t) => {
  const room = await written(t);
  const { anchor } = await room.verify();
  await room.sql("DELETE FROM audit_events WHERE sequence > 10");
  assert.match((await room.verify()).lines.join("; "), /links 1\d to 15 are missing$/);
  await room.sql("DELETE FROM audit_checkpoints WHERE kind = 'closed'");
  await room.sql("UPDATE audit_events SET outcome = 'open' WHERE end_sequence > 10");
  assert.match(
    (await room.verify(anchor)).lines.join("; "),
    /checkpoint 2: it is not the one that was noted elsewhere/,
  );
});

test("a chain that is removed as a whole shows", async (t) => {
  const room = await written(t);
  const second = room.another();
  second.record({ ...event, outcome: "ok" });
  await second.close();
  const [first] = await room.store.models.auditCheckpoints.findAll({ order: [["number", "ASC"]] });
  await room.sql("DELETE FROM audit_events WHERE chain_id = ?", first?.chainId);
  assert.match((await room.verify()).lines.join("; "), /links 1 to 15 are missing/);
  await room.sql("DELETE FROM audit_checkpoints WHERE chain_id = ?", first?.chainId);
  assert.match((await room.verify()).lines.join("; "), /checkpoints 1 to 2 are missing/);
});

test("checkpoints that are changed, or removed under a running process, show", async (t) => {
  const room = await written(t);
  await room.sql("UPDATE audit_checkpoints SET sequence = 3 WHERE kind = 'closed'");
  assert.match((await room.verify()).lines.join("; "), /checkpoint 2: it is not as it was signed/);
  await room.sql("DELETE FROM audit_checkpoints");
  assert.match((await room.verify()).lines.join("; "), /all checkpoints are missing/);
  // The process that wrote them goes on where it was.
  room.audit.record({ ...event, outcome: "ok" });
  await room.audit.close();
  assert.match((await room.verify()).lines.join("; "), /checkpoints 1 to 2 are missing/);
  assert.ok(room.errors.includes("checkpoints of the audit are gone from the database"));
});

test("nobody without the master key can sign a checkpoint", async (t) => {
  const room = await written(t);
  const stranger = await signingKey(room.store, keyringOf(Buffer.alloc(32, 9)), silentLog);
  const chainId = "01M8PZ2C84988TERB0BA6W9HNX";
  const checkpoints = createCheckpoints({ store: room.store, log: silentLog, clock: Date.now });
  await checkpoints.append(stranger, { kind: "cut", chainId, sequence: 1, hash: "0".repeat(64) });
  assert.match((await room.verify()).lines.join("; "), /checkpoint 3: its key is not here/);
});

test("a chain lasts a day; a write that ends later is still told in the chain in which it began", async (t) => {
  const room = await auditRoom(t);
  const handle = await room.audit.begin(event);
  room.time.now += DAY;
  room.audit.record({ ...event, outcome: "ok" });
  await room.audit.flush();
  await room.audit.finish(handle, { outcome: "ok" });
  await room.audit.close();
  const { lines, chains } = await room.verify();
  assert.deepEqual(lines, []);
  assert.equal(chains, 2);
  assert.equal(await room.store.models.auditCheckpoints.count({ where: { kind: "closed" } }), 2);
});

test("a retention that was interrupted verifies, and is finished by the next sweep", async (t) => {
  const room = await written(t);
  room.time.now = START + 40 * DAY;
  const key = await signingKey(room.store, keyringOf(MASTER_KEY), silentLog);
  const [closed] = await room.store.models.auditCheckpoints.findAll({ where: { kind: "closed" } });
  assert.ok(closed);
  const { chainId, sequence, hash } = closed;
  const checkpoints = createCheckpoints({ store: room.store, log: silentLog, clock: () => room.time.now });
  await checkpoints.append(key, { kind: "cut", chainId, sequence, hash });
  await room.sql("DELETE FROM audit_events WHERE tool_name LIKE 'read%'");
  assert.deepEqual((await room.verify()).lines, []);
  await room.sql("UPDATE audit_events SET rule = 'x' WHERE tool_name = 'write 1'");
  assert.equal((await room.verify()).lines.length, 1, "what waits to be removed cannot be changed either");
  assert.equal(await room.sweeper.sweep(), 5);
  assert.deepEqual((await room.verify()).lines, []);
});

test("a write that is committed without the process learning so is not written twice", async (t) => {
  const room = await auditRoom(t);
  const { auditEvents } = room.store.models;
  room.audit.record({ ...event, toolName: "first", outcome: "ok" });
  await room.audit.flush();
  const bulkCreate = auditEvents.bulkCreate.bind(auditEvents);
  t.mock.method(auditEvents, "bulkCreate", async (...args: Parameters<typeof bulkCreate>) => {
    await bulkCreate(...args);
    t.mock.restoreAll();
    throw new Error("the connection is gone");
  });
  room.audit.record({ ...event, toolName: "second", outcome: "ok" });
  await room.audit.flush();
  room.audit.record({ ...event, toolName: "third", outcome: "ok" });
  await room.audit.close();
  const rows = await auditEvents.findAll({ order: [["sequence", "ASC"]] });
  assert.deepEqual(
    rows.map(({ toolName }) => toolName),
    ["first", "second", "third"],
  );
  assert.deepEqual((await room.verify()).lines, []);
});

test("one write whose intent was removed does not fail those that are written with it", async (t) => {
  const room = await auditRoom(t);
  const [a, b] = await Promise.all([room.audit.begin(event), room.audit.begin({ ...event, toolName: "kept" })]);
  await room.sql("DELETE FROM audit_events WHERE id = ?", a.id);
  await Promise.all([a, b].map((handle) => room.audit.finish(handle, { outcome: "ok" })));
  assert.equal((await room.store.models.auditEvents.findByPk(b.id))?.outcome, "ok");
  assert.deepEqual(room.errors, ["the outcome of a write found no open intent"]);
  assert.equal((await room.verify()).lines.length, 1);
});

test("what was signed before the master key was changed still verifies, without the old key", async (t) => {
  const room = await written(t);
  const both = keyringOf(Buffer.alloc(32, 8), MASTER_KEY);
  const { change, counts } = createResealer(both);
  for (const column of SEALED_COLUMNS) await column.rewrite(room.store, change);
  assert.equal(counts.resealed, 1);
  const lines: string[] = [];
  const onBreak = (line: string) => lines.push(line);
  await verifyAudit({ store: room.store, keyring: keyringOf(Buffer.alloc(32, 8)), log: silentLog, onBreak });
  assert.deepEqual(lines, []);
});

test("events from before there were chains are counted, not complained about", async (t) => {
  const room = await auditRoom(t);
  await room.store.models.auditEvents.create({ ...event, id: ulid(), at: new Date(START - 1), outcome: "ok" });
  await fill(room, 1);
  const { lines, unchained, events } = await room.verify();
  assert.deepEqual([lines, unchained, events], [[], 1, 2]);
});

test("the command says each break on a line and ends with exit code 1", async (t) => {
  const dataDir = temporaryDirectory(t);
  const env = {
    JACKFIELD_DATA_DIR: dataDir,
    JACKFIELD_CONFIG_DIR: join(dataDir, "config"),
    JACKFIELD_MASTER_KEY: MASTER_KEY.toString("base64"),
  };
  const store = await openStore({ url: undefined, dataDir, log: silentLog });
  t.after(() => store.close());
  await migrate(store);
  const audit = createAudit({ store, keyring: keyringOf(MASTER_KEY), log: silentLog, clock: Date.now });
  for (const toolName of ["a", "b", "c"]) audit.record({ ...event, toolName, outcome: "ok" });
  await audit.close();
  const good = await runToEnd(["audit", "verify"], env);
  assert.equal(good.code, 0, good.stderr);
  assert.match(good.stdout, /^3 events, 1 chain, 2 checkpoints: all as they were written\.\n/);
  const anchor = /\n(2:[0-9a-f]{64})\n$/.exec(good.stdout)?.[1] ?? "";
  assert.equal((await runToEnd(["audit", "verify", "--anchor", anchor], env)).code, 0);
  await store.sequelize.query("UPDATE audit_events SET rule = 'x' WHERE tool_name = 'a'");
  await store.sequelize.query("DELETE FROM audit_events WHERE tool_name = 'c'");
  const bad = await runToEnd(["audit", "verify"], env);
  assert.equal(bad.code, 1);
  assert.match(
    bad.stdout,
    /^chain \w+: link 1: the event \w+ is not as it was written\nchain \w+: link 3 is missing\n$/,
  );
  assert.equal(bad.stderr, "jackfield: The audit is not as it was written, in 2 places.\n");
  const json = await runToEnd(["audit", "verify", "--json"], env);
  const lines = json.stdout
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  assert.equal(json.code, 1);
  assert.equal(lines.length, 3);
});

const PROCESS = fileURLToPath(new URL("./fixtures/auditing-process.ts", import.meta.url));

async function inProcess({ url, dataDir }: DatabasePlace, ...args: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [PROCESS, JSON.stringify({ url, dataDir }), ...args]);
}
