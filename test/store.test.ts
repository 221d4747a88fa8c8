import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { QueryTypes, UniqueConstraintError } from "sequelize";
import { openStore } from "../server/store/database.ts";
import { migrate } from "../server/store/migrate.ts";
import { databases, freePort, mariadb, sqlite, storeFor, temporaryDirectory } from "./fixtures/databases.ts";
import { inSecondProcess } from "./fixtures/run-second-process.ts";
import { silentLog } from "./fixtures/silent-log.ts";

const DIRECTORY = new URL("../migrations/", import.meta.url);
const MIGRATIONS = readdirSync(DIRECTORY)
  .map((file) => file.replace(/\.ts$/, ""))
  .sort();

for (const database of databases) {
  describe(`the store on ${database.name}`, { skip: database.skip }, () => {
    test("transactions that read and write at once lose nothing", async (t) => {
      const store = await storeFor(t, database);
      const { settings } = store.models;
      await settings.create({ key: "counter", value: "0" });
      const add = () =>
        store.transaction(async (transaction) => {
          const row = await settings.findByPk("counter", { transaction, lock: transaction.LOCK.UPDATE });
          await row?.update({ value: String(Number(row.value) + 1) }, { transaction });
        });
      await Promise.all(Array.from({ length: 20 }, add));
      assert.equal((await settings.findByPk("counter"))?.value, "20");
    });

    test("two processes that write at once lose nothing", async (t) => {
      const store = await storeFor(t, database);
      await store.models.settings.create({ key: "counter", value: "0" });
      await Promise.all([inSecondProcess(store, "count", "40"), inSecondProcess(store, "count", "40")]);
      assert.equal((await store.models.settings.findByPk("counter"))?.value, "80");
    });

    test("a transaction that throws leaves nothing behind", async (t) => {
      const { models, transaction } = await storeFor(t, database);
      const failing = transaction(async (within) => {
        await models.settings.create({ key: "a", value: "1" }, { transaction: within });
        throw new Error("no");
      });
      await assert.rejects(failing, /^Error: no$/);
      assert.equal(await models.settings.count(), 0);
    });

    test("of many that claim one thing by a conditional update, one gets it", async (t) => {
      const { models } = await storeFor(t, database);
      await models.settings.create({ key: "claim", value: "" });
      const claims = Array.from({ length: 12 }, (_, number) =>
        models.settings.update({ value: `by ${number}` }, { where: { key: "claim", value: "" } }),
      );
      const claimed = (await Promise.all(claims)).filter(([changed]) => changed === 1);
      assert.equal(claimed.length, 1);
    });

    test("names that differ in case are different names", async (t) => {
      const { models } = await storeFor(t, database);
      const { id } = await models.organizations.create({ slug: "acme", name: "Acme" });
      await models.agents.create({ organizationId: id, name: "Robot" });
      await models.agents.create({ organizationId: id, name: "robot" });
      assert.equal(await models.agents.count({ where: { name: "robot" } }), 1);
      assert.equal(await models.organizations.findOne({ where: { slug: "Acme" } }), null);
      assert.equal(await models.organizations.findByPk(id.toLowerCase()), null);
      await assert.rejects(models.agents.create({ organizationId: id, name: "robot" }), UniqueConstraintError);
    });

    test("a moment comes back to the millisecond, and is compared to it", async (t) => {
      const { models } = await storeFor(t, database);
      const at = new Date("2026-11-30T12:00:00.987Z");
      await models.changes.create({ origin: "o", topic: "t", payload: {}, at });
      assert.deepEqual((await models.changes.findOne())?.at, at);
      assert.equal(await models.changes.count({ where: { at } }), 1);
      assert.equal(await models.changes.count({ where: { at: new Date(at.getTime() + 1) } }), 0);
    });

    test("a JSON document comes back with its keys in order, however large", async (t) => {
      const { models } = await storeFor(t, database);
      const payload = { zebra: { b: 1, a: [2, null, "ü\u{1F600}"] }, long: "x".repeat(200_000), apple: 1.0 };
      const row = await models.changes.create({ origin: "o", topic: "t", payload, at: new Date(0) });
      await row.reload();
      assert.equal(JSON.stringify(row.payload), JSON.stringify(payload));
      await models.changes.update({ payload: { second: true } }, { where: { id: row.id } });
      assert.deepEqual((await models.changes.findOne())?.payload, { second: true });
      await models.changes.bulkCreate([{ origin: "o", topic: "bulk", payload: { third: 3 }, at: new Date(0) }]);
      assert.deepEqual((await models.changes.findOne({ where: { topic: "bulk" } }))?.payload, { third: 3 });
    });

    test("a state that does not exist is refused by the model and by the database", async (t) => {
      const { models, sequelize } = await storeFor(t, database);
      const version = { environmentId: "e", number: 1, digest: "d", author: "a", createdAt: new Date(0) };
      const wrong: string = "sleeping";
      await assert.rejects(models.environmentVersions.create({ ...version, state: wrong as "draft" }), /isIn/);
      await models.environmentVersions.create({ ...version, state: "draft" });
      await assert.rejects(sequelize.query("UPDATE environment_versions SET state = 'sleeping'"), /CONSTRAINT/i);
    });

    test("an integer too large for a number is read without a change", async (t) => {
      const { sequelize } = await storeFor(t, database);
      const rows = await sequelize.query("SELECT 9007199254740993 AS large, 42 AS small", { type: QueryTypes.SELECT });
      assert.deepEqual(rows, [{ large: "9007199254740993", small: 42 }]);
    });

    test("every table has exactly the columns of its model", async (t) => {
      const { models, sequelize } = await storeFor(t, database);
      const columns = (entries: [string, boolean][]) => entries.sort(([a], [b]) => a.localeCompare(b));
      const text = (name: string) => readFileSync(new URL(`${name}.ts`, DIRECTORY), "utf8");
      assert.equal(Object.keys(models).length, MIGRATIONS.filter((name) => /\bcreateTable\(/.test(text(name))).length);
      for (const { tableName, rawAttributes } of Object.values(models)) {
        const table = await sequelize.getQueryInterface().describeTable(tableName);
        const attributes = Object.values(rawAttributes);
        assert.deepEqual(
          columns(Object.entries(table).map(([name, { allowNull, primaryKey }]) => [name, allowNull && !primaryKey])),
          columns(
            attributes.map(({ field, allowNull, primaryKey }) => [field ?? "", allowNull !== false && !primaryKey]),
          ),
          tableName,
        );
      }
    });

    test("two processes that migrate at once run every migration once, and a third finds nothing to do", async (t) => {
      const place = await database.place(t);
      const both = await Promise.all([inSecondProcess(place, "migrate"), inSecondProcess(place, "migrate")]);
      assert.deepEqual(both.flat().sort(), MIGRATIONS);
      assert.deepEqual(await inSecondProcess(place, "migrate"), []);
    });

    test("a migration that was cut off before it was noted can run again", async (t) => {
      const store = await storeFor(t, database);
      await store.models.settings.create({ key: "kept", value: "yes" });
      await store.sequelize.query("DELETE FROM schema_migrations");
      assert.deepEqual(await migrate(store), MIGRATIONS);
      assert.equal((await store.models.settings.findByPk("kept"))?.value, "yes");
    });
  });
}

test("on MariaDB a deadlock is survived by running the loser again", { skip: mariadb.skip }, async (t) => {
  const { models, transaction } = await storeFor(t, mariadb);
  await models.settings.bulkCreate([
    { key: "a", value: "" },
    { key: "b", value: "" },
  ]);
  let attempts = 0;
  let holding = 0;
  const { promise: bothHoldOne, resolve } = Promise.withResolvers<void>();
  const cross = (first: string, second: string) =>
    transaction(async (within) => {
      attempts += 1;
      await models.settings.update({ value: first }, { where: { key: first }, transaction: within });
      holding += 1;
      if (holding === 2) resolve();
      await bothHoldOne;
      await models.settings.update({ value: first }, { where: { key: second }, transaction: within });
    });
  await Promise.all([cross("a", "b"), cross("b", "a")]);
  assert.equal(attempts, 3);
});

test("on SQLite a write waits for an open transaction without stopping the process, and reads do not wait", async (t) => {
  const { models, transaction } = await storeFor(t, sqlite);
  await models.settings.create({ key: "a", value: "before" });
  const order: string[] = [];
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: open, resolve: opened } = Promise.withResolvers<void>();
  const long = transaction(async (within) => {
    await models.settings.update({ value: "within" }, { where: { key: "a" }, transaction: within });
    opened();
    await held;
    order.push("transaction");
  });
  await open;
  const write = models.settings.create({ key: "b", value: "" }).then(() => order.push("write"));
  assert.equal((await models.settings.findByPk("a"))?.value, "before");
  order.push("read");
  letGo();
  await Promise.all([long, write]);
  assert.deepEqual(order, ["read", "transaction", "write"]);
});

test("the files of a SQLite database are readable by their owner only", async (t) => {
  const { dataDir, models } = await storeFor(t, sqlite);
  await models.settings.create({ key: "a", value: "b" });
  const files = readdirSync(dataDir);
  assert.ok(files.includes("jackfield.db-wal"));
  for (const file of files) assert.equal(statSync(join(dataDir, file)).mode & 0o077, 0, file);
});

test("a database file that is none ends the start with one line that names it", async (t) => {
  const dataDir = temporaryDirectory(t);
  writeFileSync(
    join(dataDir, "jackfield.db"),
    "this is not a database, but long enough to be looked at as one".repeat(40),
  );
  const opening = openStore({ url: undefined, dataDir, log: silentLog });
  await assert.rejects(opening, {
    code: "start_failed",
    message: /^The database file .*jackfield\.db cannot be used: .+/,
  });
});

test("a data directory that cannot be made ends the start with one line that names it", async (t) => {
  const file = join(temporaryDirectory(t), "file");
  writeFileSync(file, "");
  const opening = openStore({ url: undefined, dataDir: join(file, "data"), log: silentLog });
  await assert.rejects(opening, {
    code: "start_failed",
    message: /^The data directory .*data cannot be used: [^\n]+$/,
  });
});

test("a MySQL server that does not answer is told apart, and its password is not shown", async (t) => {
  const url = `mysql://user:hidden-password@127.0.0.1:${await freePort()}/db`;
  const opening = openStore({ url, dataDir: temporaryDirectory(t), log: silentLog });
  await assert.rejects(opening, (error: Error & { code?: string; detail?: string }) => {
    assert.equal(error.code, "database_unavailable");
    assert.doesNotMatch(`${error.message} ${error.detail}`, /hidden-password/);
    return true;
  });
});
