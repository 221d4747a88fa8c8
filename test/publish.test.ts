import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfigDir } from "../server/connections/files.ts";
import { publishConfig } from "../server/connections/publish.ts";
import { JackfieldError } from "../server/errors.ts";
import { connectionFile, openRooms } from "./fixtures/connection-rooms.ts";

const TRACKER = connectionFile("https://tracker.example/mcp");

test("a first publication makes organization, environment, default endpoint and one version", async (context) => {
  const { store, registry } = await openRooms(context, { "connections/tracker.yml": TRACKER });
  const served = registry.endpoint(undefined, undefined);
  assert.equal(served?.endpoint.slug, "default");
  assert.deepEqual(
    served?.environment.connections.map(({ slug }) => slug),
    ["tracker"],
  );
  const versions = await store.models.environmentVersions.findAll();
  assert.deepEqual(
    versions.map(({ number, state, author }) => [number, state, author]),
    [[1, "published", "files"]],
  );
});

test("the same files again make no new version", async (context) => {
  const { store, publish } = await openRooms(context, { "connections/tracker.yml": TRACKER });
  assert.deepEqual(await publish(), { changed: [], drafted: [], unchanged: 1 });
  assert.equal(await store.models.environmentVersions.count(), 1);
});

test("a change makes a new version that keeps the identities of connections and endpoints", async (context) => {
  const { store, dir, publish, registry } = await openRooms(context, { "connections/tracker.yml": TRACKER });
  const before = registry.endpoint(undefined, undefined);
  dir.write({ "connections/tracker.yml": `${TRACKER}  label: New label\n`, "connections/other.yml": TRACKER });
  const { changed } = await publish();
  assert.deepEqual(
    changed.map(({ organization, environment, number }) => [organization, environment, number]),
    [["default", "main", 2]],
  );
  await registry.reload();
  const after = registry.endpoint(undefined, undefined);
  const tracker = after?.environment.connections.find(({ slug }) => slug === "tracker");
  assert.equal(tracker?.label, "New label");
  assert.equal(tracker?.id, before?.environment.connections[0]?.id);
  assert.equal(after?.endpoint.id, before?.endpoint.id);
  const versions = await store.models.environmentVersions.findAll({ order: [["number", "ASC"]] });
  assert.deepEqual(
    versions.map(({ state }) => state),
    ["superseded", "published"],
  );
});

test("a wrong file changes nothing and is told by file, line and key", async (context) => {
  const { dir, publish, registry, store } = await openRooms(context, { "connections/tracker.yml": TRACKER });
  const before = registry.endpoint(undefined, undefined)?.environment;
  dir.write({ "connections/tracker.yml": `${TRACKER}  lable: Typo\n`, "connections/new.yml": TRACKER });
  await assert.rejects(publish(), (error) => {
    assert.ok(error instanceof JackfieldError);
    assert.equal(error.code, "config_invalid");
    assert.equal(error.message, "connections/tracker.yml:5: connection.lable: unknown key");
    return true;
  });
  await registry.reload();
  assert.equal(registry.endpoint(undefined, undefined)?.environment, before);
  assert.equal(await store.models.environmentVersions.count(), 1);
});

test("a connection whose file is gone is not served any more, and comes back as the same one", async (context) => {
  const { dir, publish, registry, connection } = await openRooms(context, { "connections/tracker.yml": TRACKER });
  const { id } = connection("tracker");
  dir.write({ "connections/tracker.yml": undefined });
  await publish();
  await registry.reload();
  assert.deepEqual(registry.connections(), []);
  dir.write({ "connections/tracker.yml": TRACKER });
  await publish();
  await registry.reload();
  assert.equal(connection("tracker").id, id);
});

test("an environment whose folder is gone serves nothing any more", async (context) => {
  const { dir, publish, registry } = await openRooms(context, {
    "environments/lab/connections/tracker.yml": TRACKER,
    "environments/lab/endpoints/lab.yml": "version: 1\nendpoint: {}\n",
  });
  assert.ok(registry.endpoint(undefined, "lab"));
  dir.write({ "environments/lab/connections/tracker.yml": undefined, "environments/lab/endpoints/lab.yml": undefined });
  await publish();
  await registry.reload();
  assert.equal(registry.endpoint(undefined, "lab"), undefined);
  assert.deepEqual(registry.connections(), []);
});

test("an organization that no file names has its default endpoint all the same", async (context) => {
  const { store, shared, dir, registry } = await openRooms(context, {});
  await store.models.organizations.create({ slug: "acme", name: "Acme" });
  await publishConfig({ store, bus: shared.bus }, loadConfigDir(dir.path, {}), "files");
  await registry.reload();
  assert.equal(registry.endpoint("acme", undefined)?.endpoint.organizationSlug, "acme");
  assert.equal(registry.endpoint("acme", "default")?.endpoint.isDefault, true);
  assert.notEqual(
    registry.endpoint("acme", undefined)?.endpoint.id,
    registry.endpoint(undefined, undefined)?.endpoint.id,
  );
});

test("what an adapter remembered of another address is forgotten", async (context) => {
  const { store, dir, publish, connection } = await openRooms(context, { "connections/tracker.yml": TRACKER });
  const connectionId = connection("tracker").id;
  const memory = { era: "legacy" };
  await store.models.connectionStates.create({ connectionId, health: "healthy", memory });
  dir.write({ "connections/tracker.yml": `${TRACKER}  label: Renamed\n` });
  await publish();
  assert.deepEqual((await store.models.connectionStates.findByPk(connectionId))?.memory, memory);
  dir.write({ "connections/tracker.yml": connectionFile("https://elsewhere.example/mcp") });
  await publish();
  assert.equal((await store.models.connectionStates.findByPk(connectionId))?.memory, null);
});
