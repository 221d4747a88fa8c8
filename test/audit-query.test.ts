import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { loadConfigDir } from "../server/connections/files.ts";
import { type AuditEvent, createAudit } from "../server/observe/audit.ts";
import { type AuditFilter, eachAuditEvent, queryAudit, tokensOf, whoIs } from "../server/observe/audit-query.ts";
import { retentionMs } from "../server/observe/audit-retention.ts";
import { openStore } from "../server/store/database.ts";
import { migrate } from "../server/store/migrate.ts";
import { keyringOf } from "../server/vault/keyring.ts";
import { auditRoom, event, MASTER_KEY, ORGANIZATION, START } from "./fixtures/audit-room.ts";
import { runToEnd } from "./fixtures/command.ts";
import { databases, storeFor, temporaryDirectory } from "./fixtures/databases.ts";
import { startProduct } from "./fixtures/product.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const OTHER = "01M8PZ2C84988TERB0BA6W9HNZ";
const HOUR = 3_600_000;

/** One event an hour; `reason` names it. */
const EVENTS: readonly Partial<AuditEvent>[] = [
  { reason: "a", toolName: "tracker__get_issue", endpointSlug: "default", connectionSlug: "tracker" },
  {
    reason: "b",
    toolName: "tracker__get_Issue",
    endpointSlug: "support",
    endpointId: OTHER,
    connectionSlug: "tracker",
  },
  { reason: "c", toolName: "trackerX_get_issue", principalSubject: OTHER, principalName: "Ada", tokenId: OTHER },
  { reason: "d", toolName: "files__write", decision: "refuse", connectionId: OTHER, connectionSlug: "files" },
  { reason: "e", organizationId: OTHER, toolName: "files__write", decision: "needs_approval" },
];

for (const database of databases) {
  test(`events are found by every question, alone and together (${database.name})`, {
    skip: database.skip,
  }, async (t) => {
    const { audit, store, time } = await auditRoom(t, database);
    for (const one of EVENTS) {
      if (one.decision === "refuse") audit.refused({ ...event, ...one });
      else audit.record({ ...event, ...one, outcome: "ok" });
      time.now += HOUR;
    }
    await audit.flush();
    await audit.begin({ ...event, reason: "f", toolName: "files__open" });
    const found = async (filter: AuditFilter) => {
      const { events } = await queryAudit(store, filter, { limit: 10, order: "oldest_first" });
      return events.map(({ reason }) => reason).join("");
    };
    const questions: [AuditFilter, string][] = [
      [{}, "abcdef"],
      [{ organizationId: ORGANIZATION }, "abcdf"],
      [{ subjects: [OTHER] }, "c"],
      [{ subjects: [] }, ""],
      [{ principalName: "Ada" }, "c"],
      [{ tokenIds: [OTHER] }, "c"],
      [{ tokenIds: [] }, ""],
      [{ endpointSlug: "support" }, "b"],
      [{ endpointId: OTHER }, "b"],
      [{ connectionSlug: "tracker" }, "ab"],
      [{ connectionId: OTHER }, "d"],
      [{ tool: "tracker__get_issue" }, "a"],
      [{ tool: "tracker__*" }, "ab"],
      [{ tool: "*" }, "abcdef"],
      [{ decision: "refuse" }, "d"],
      [{ decision: "needs_approval" }, "e"],
      [{ outcome: "refused" }, "d"],
      [{ outcome: "outcome_unknown" }, "f"],
      [{ from: new Date(START + HOUR) }, "bcdef"],
      [{ to: new Date(START + HOUR) }, "a"],
      [{ from: new Date(START + HOUR), to: new Date(START + 3 * HOUR) }, "bc"],
      [{ connectionSlug: "tracker", endpointSlug: "default", tool: "tracker__*" }, "a"],
      [{ connectionSlug: "tracker", decision: "refuse" }, ""],
    ];
    for (const [filter, expected] of questions) assert.equal(await found(filter), expected, JSON.stringify(filter));
  });
}

test("pages neither repeat nor leave out an event while others are added", async (t) => {
  const { audit, store } = await auditRoom(t);
  const add = async (from: number, to: number) => {
    for (let number = from; number <= to; number += 1) audit.record({ ...event, durationMs: number, outcome: "ok" });
    await audit.flush();
  };
  await add(1, 25);
  for (const order of ["newest_first", "oldest_first"] as const) {
    const seen: (number | null)[] = [];
    let after: string | undefined;
    do {
      const page = await queryAudit(store, {}, { limit: 10, order, ...(after !== undefined && { after }) });
      seen.push(...page.events.map(({ durationMs }) => durationMs));
      after = page.next;
      if (order === "newest_first") await add(100, 102);
    } while (after !== undefined);
    const first = seen.filter((number) => (number ?? 0) < 100);
    const expected = Array.from({ length: 25 }, (_, index) => index + 1);
    assert.deepEqual(order === "newest_first" ? first.reverse() : first, expected, order);
    assert.equal(new Set(seen.slice(0, 25)).size, 25);
  }
});

test("an export reads thousands of events a page at a time, oldest first", async (t) => {
  const { audit, store } = await auditRoom(t);
  for (let number = 1; number <= 1203; number += 1) audit.record({ ...event, durationMs: number, outcome: "ok" });
  await audit.flush();
  let queries = 0;
  store.sequelize.addHook("afterQuery", () => {
    queries += 1;
  });
  let number = 0;
  for await (const { durationMs } of eachAuditEvent(store, {})) {
    number += 1;
    assert.equal(durationMs, number);
    assert.equal(queries, Math.ceil(number / 500), "the next page is read when this one was taken");
  }
  assert.equal(number, 1203);
});

test("names stand for people, agents, tokens and clients", async (t) => {
  const store = await storeFor(t);
  const { people, agents, agentTokens } = store.models;
  const ada = await people.create({
    username: "ada",
    name: "Ada",
    email: null,
    passwordHash: null,
    createdAt: new Date(),
  });
  const agent = await agents.create({ organizationId: ORGANIZATION, name: "night-agent" });
  const token = await agentTokens.create({
    ...{ organizationId: ORGANIZATION, agentId: agent.id, name: "laptop", hash: "0".repeat(64), last4: "abcd" },
    ...{ scopes: "mcp:read", endpointIds: [], variables: {}, createdBy: "test", createdAt: new Date() },
  });
  assert.deepEqual(await whoIs(store, "ada"), { subjects: [ada.id] });
  assert.deepEqual(await whoIs(store, "night-agent", ORGANIZATION), { subjects: [agent.id] });
  assert.deepEqual(await whoIs(store, "night-agent", OTHER), { principalName: "night-agent" });
  assert.deepEqual(await whoIs(store, OTHER), { subjects: [OTHER] });
  assert.deepEqual(await tokensOf(store, "laptop"), [token.id]);
  assert.deepEqual(await tokensOf(store, "laptop", OTHER), []);
});

test("the commands query, page, export and refuse what they cannot read", async (t) => {
  const dataDir = temporaryDirectory(t);
  const env = {
    JACKFIELD_DATA_DIR: dataDir,
    JACKFIELD_CONFIG_DIR: join(dataDir, "config"),
    JACKFIELD_MASTER_KEY: MASTER_KEY.toString("base64"),
  };
  const store = await openStore({ url: undefined, dataDir, log: silentLog });
  t.after(() => store.close());
  await migrate(store);
  const time = { now: START };
  const audit = createAudit({ store, keyring: keyringOf(MASTER_KEY), log: silentLog, clock: () => time.now });
  for (const one of EVENTS) {
    audit.record({ ...event, ...one, outcome: "ok" });
    time.now += HOUR;
  }
  await audit.close();
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runToEnd(["audit", ...args], env);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const page = JSON.parse(await run("query", "--tool", "tracker__*", "--limit", "1", "--json"));
  assert.deepEqual([page.events.length, page.events[0].reason], [1, "b"]);
  assert.equal("hash" in page.events[0], false);
  const next = JSON.parse(await run("query", "--tool", "tracker__*", "--limit", "1", "--after", page.next, "--json"));
  assert.deepEqual([next.events[0].reason, next.next], ["a", undefined]);
  const table = await run("query", "--person", "Ada");
  assert.match(table, /^AT .*\n.* Ada .*trackerX_get_issue/);
  assert.equal(await run("query", "--client", "nobody"), "Nothing fits.\n");
  const lines = (await run("export", "--from", "2026-11-30T13:00Z", "--to", "2026-11-30T15:00Z")).trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).reason),
    ["b", "c"],
  );
  assert.equal(JSON.parse(await run("tail", "-n", "1", "--connection", "tracker", "--json")).reason, "b");
  const wrong = await runToEnd(["audit", "query", "--from", "yesterday"], env);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /2026-11-30/);
});

test("the retention is a setting, a year unless it is set", async (t) => {
  assert.equal(retentionMs("never"), Number.POSITIVE_INFINITY);
  assert.equal(retentionMs("2w"), 14 * 24 * HOUR);
  assert.equal(loadConfigDir(temporaryDirectory(t), {}).jackfield.audit.retention, "365d");
  await using product = await startProduct({
    files: { "jackfield.yml": "version: 1\naudit: { retention: never }\n" },
  });
  assert.equal(loadConfigDir(join(product.directory, "config"), {}).jackfield.audit.retention, "never");
  await product.stop();
  await assert.rejects(
    startProduct({ files: { "jackfield.yml": "version: 1\naudit: { retention: 10 minutes }\n" } }),
    /jackfield\.yml:2.*retention.*365d/,
  );
});
