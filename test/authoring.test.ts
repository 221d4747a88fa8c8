import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createConnection, deleteConnection, updateConnection } from "../server/connections/connection-edits.ts";
import { connectionConsequences, endpointConsequences, slugProblem } from "../server/connections/consequences.ts";
import { type Conflict, listEdits } from "../server/connections/edits.ts";
import { createEndpoint, deleteEndpoint, updateEndpoint } from "../server/connections/endpoint-edits.ts";
import {
  createEnvironment,
  deleteEnvironment,
  setDraftMode,
  updateEnvironment,
} from "../server/connections/environment-edits.ts";
import { diffVersions, discardDraft, listVersions, publishDraft, rollBack } from "../server/connections/publication.ts";
import { KEPT_VERSIONS } from "../server/connections/versions.ts";
import { JackfieldError } from "../server/errors.ts";
import { type AuthoringDesk, authoringDesk } from "./fixtures/authoring-desk.ts";
import { connectionFile } from "./fixtures/connection-rooms.ts";
import { databases, sqlite } from "./fixtures/databases.ts";

const TRACKER = { type: "mcp", url: "https://tracker.example/mcp", access: { read: { tools: ["get_*"] } } };
const author = "ann";
const CONCERNS_DATABASES = /published together|at once, one is told|served again|come back with their name/;

function code(expected: string, pattern = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof JackfieldError, String(error));
    assert.equal(error.code, expected, error.message);
    assert.match(error.message, pattern);
    return true;
  };
}

async function addTracker(desk: AuthoringDesk, entered: unknown = TRACKER, environmentId = desk.main) {
  return createConnection(desk, { environmentId, slug: "tracker", entered, author });
}

async function served(desk: AuthoringDesk, environmentId = desk.main): Promise<string[]> {
  await desk.registry.reload();
  return (desk.registry.environment(environmentId)?.connections ?? []).map(({ slug, label }) => `${slug}: ${label}`);
}

for (const database of databases) {
  const it = (name: string, work: (desk: AuthoringDesk) => Promise<void>) => {
    // MariaDB is shown what differs between databases; a database of its own takes each test seconds there.
    if (database === sqlite || CONCERNS_DATABASES.test(name)) {
      test(name, async (context: TestContext) => work(await authoringDesk(context, database)));
    }
  };

  describe(`editing on ${database.name}`, { skip: database.skip }, () => {
    it("what is saved in the first environment is served at once, reviewed strictly unless it says otherwise", async (desk) => {
      const { state, version, connection } = await addTracker(desk);
      assert.deepEqual([state, version], ["served", 2]);
      assert.equal(connection.config.review, "strict");
      assert.deepEqual(await served(desk), ["tracker: tracker"]);
      const entered = { ...TRACKER, label: "Tracker" };
      const saved = await updateConnection(desk, { connectionId: connection.id, entered, author });
      assert.equal(saved.version, 3);
      assert.equal(saved.connection.id, connection.id);
      assert.deepEqual(await served(desk), ["tracker: Tracker"]);
      const again = await updateConnection(desk, { connectionId: connection.id, entered, author });
      assert.equal(again.state, "unchanged");
      await deleteConnection(desk, { connectionId: connection.id, author });
      assert.deepEqual(await served(desk), []);
      const versions = await listVersions(desk.store, desk.main);
      assert.deepEqual(
        versions.map(({ number, state, author }) => [number, state, author]),
        [
          [4, "published", "ann"],
          [3, "superseded", "ann"],
          [2, "superseded", "ann"],
          [1, "superseded", "files"],
        ],
      );
    });

    it("with drafts on, edits wait, are compared, and are published together", async (desk) => {
      await setDraftMode(desk, { environmentId: desk.main, on: true });
      const { state } = await addTracker(desk);
      assert.equal(state, "draft");
      await createEndpoint(desk, { environmentId: desk.main, slug: "support", entered: {}, author: "bob" });
      assert.deepEqual(await served(desk), []);
      const { difference, problems } = await diffVersions(desk.store, desk.main);
      assert.deepEqual(problems, []);
      assert.deepEqual(
        difference.connections.map(({ slug, change, origin }) => [slug, change, origin]),
        [["tracker", "added", "web"]],
      );
      assert.deepEqual(
        difference.endpoints.map(({ slug, change }) => [slug, change]),
        [["support", "added"]],
      );
      const [draft] = await listVersions(desk.store, desk.main);
      assert.deepEqual([draft?.state, draft?.number, draft?.author], ["draft", 0, "bob"]);
      const stale = publishDraft(desk, { environmentId: desk.main, author, digest: "0".repeat(64) });
      await assert.rejects(stale, code("edit_conflict", /^bob changed the draft/));
      const { number } = await publishDraft(desk, { environmentId: desk.main, author, digest: draft?.digest });
      assert.equal(number, 2);
      assert.deepEqual(await served(desk), ["tracker: tracker"]);
      assert.ok(desk.registry.endpoint(undefined, "support"));
      const empty = publishDraft(desk, { environmentId: desk.main, author });
      await assert.rejects(empty, code("nothing_to_publish"));
    });

    it("an edit that takes another back leaves nothing to publish", async (desk) => {
      await setDraftMode(desk, { environmentId: desk.main, on: true });
      const { connection } = await addTracker(desk);
      await assert.rejects(
        setDraftMode(desk, { environmentId: desk.main, on: false }),
        code("in_use", /A draft waits/),
      );
      await deleteConnection(desk, { connectionId: connection.id, author });
      assert.equal((await listVersions(desk.store, desk.main))[0]?.state, "published");
      await addTracker(desk);
      assert.equal(await discardDraft(desk, { environmentId: desk.main, author }), true);
      assert.equal(await discardDraft(desk, { environmentId: desk.main, author }), false);
      await setDraftMode(desk, { environmentId: desk.main, on: false });
      assert.equal((await addTracker(desk)).state, "served");
    });

    it("an editor of an older state learns who changed what since", async (desk) => {
      const { connection } = await addTracker(desk);
      const { id: connectionId, revision } = connection;
      const change = (entered: object, by: string) => updateConnection(desk, { connectionId, entered, author: by });
      await change({ ...TRACKER, label: "One" }, "bob");
      desk.time.now += 60_000;
      const { connection: newest } = await change({ ...TRACKER, label: "Two", required: true }, "cat");
      const late = updateConnection(desk, { connectionId, entered: TRACKER, revision, author });
      await assert.rejects(late, (error: unknown) => {
        code("edit_conflict", /^cat changed this connection/)(error);
        const { changes, edits, revision: now } = (error as JackfieldError).data as Conflict;
        assert.deepEqual(changes, [
          { path: "label", before: "tracker", after: "Two" },
          { path: "required", before: false, after: true },
        ]);
        assert.deepEqual(
          edits.map((edit) => [edit.author, edit.at.toISOString()]),
          [
            ["cat", "2027-01-01T00:01:00.000Z"],
            ["bob", "2027-01-01T00:00:00.000Z"],
          ],
        );
        assert.equal(now, newest.revision);
        return true;
      });
      await assert.rejects(deleteConnection(desk, { connectionId, revision, author }), code("edit_conflict"));
      const saved = await updateConnection(desk, {
        connectionId,
        entered: { ...TRACKER, label: "Three" },
        revision: newest.revision,
        author,
      });
      assert.equal(saved.state, "served");
      const edits = await listEdits(desk.store, desk.main, { kind: "connection", slug: "tracker" });
      assert.deepEqual(
        edits.map((edit) => edit.author),
        ["ann", "cat", "bob", "ann"],
      );
    });

    it("of editors who save the same state at once, one is told to look again", async (desk) => {
      const { connection } = await addTracker(desk);
      const { id: connectionId, revision } = connection;
      const saves = ["a", "b", "c"].map((label) =>
        updateConnection(desk, { connectionId, entered: { ...TRACKER, label }, revision, author: label }),
      );
      const settled = await Promise.allSettled(saves);
      const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
      assert.equal(refused.length, 2);
      for (const error of refused) code("edit_conflict")(error);
    });

    it("an earlier version is served again as a new one, and a draft stays", async (desk) => {
      const { connection } = await addTracker(desk);
      await updateConnection(desk, { connectionId: connection.id, entered: { ...TRACKER, label: "Worse" }, author });
      const { number } = await rollBack(desk, { environmentId: desk.main, number: 2, author: "cat" });
      assert.equal(number, 4);
      assert.deepEqual(await served(desk), ["tracker: tracker"]);
      const [newest] = await listVersions(desk.store, desk.main);
      assert.deepEqual([newest?.author, newest?.note], ["cat", "rollback to 2"]);
      const same = rollBack(desk, { environmentId: desk.main, number: 2, author });
      await assert.rejects(same, code("nothing_to_publish"));
      await assert.rejects(rollBack(desk, { environmentId: desk.main, number: 9, author }), code("not_found"));
      await setDraftMode(desk, { environmentId: desk.main, on: true });
      await updateConnection(desk, { connectionId: connection.id, entered: { ...TRACKER, label: "Next" }, author });
      await rollBack(desk, { environmentId: desk.main, number: 1, author });
      assert.deepEqual(await served(desk), []);
      await publishDraft(desk, { environmentId: desk.main, author });
      assert.deepEqual(await served(desk), ["tracker: Next"]);
    });

    it("only the newest superseded versions are kept", async (desk) => {
      const { connection } = await addTracker(desk);
      const { id: connectionId } = connection;
      for (let at = 0; at < KEPT_VERSIONS + 3; at += 1) {
        await updateConnection(desk, { connectionId, entered: { ...TRACKER, label: `Label ${at}` }, author });
      }
      const versions = await listVersions(desk.store, desk.main);
      assert.equal(versions.length, KEPT_VERSIONS + 1);
      assert.equal(await desk.store.models.connectionVersions.count(), KEPT_VERSIONS + 1);
      await assert.rejects(rollBack(desk, { environmentId: desk.main, number: 2, author }), code("not_found"));
    });

    it("environments inherit, shadow and forbid; retired ones are gone and come back with their name", async (desk) => {
      const { organizationId } = desk;
      await addTracker(desk, { ...TRACKER, label: "Of main" });
      const make = (slug: string, entered: unknown) =>
        createEnvironment(desk, { organizationId, slug, entered, author });
      const team = await make("team", { parent: "main", tools: { forbid: ["*__delete_*"] } });
      const lab = await make("lab", { label: "Lab", parent: "team" });
      await assert.rejects(make("lab", {}), code("slug_taken"));
      await assert.rejects(make("Lab", {}), code("invalid_entry", /^slug: must start/));
      await assert.rejects(make("other", { parent: "nowhere" }), code("invalid_entry", /^parent: there is no/));
      assert.deepEqual(await served(desk, lab.id), ["tracker: Of main"]);
      assert.deepEqual(desk.registry.environment(lab.id)?.forbid, ["*__delete_*"]);

      const inherited = desk.registry.environment(lab.id)?.connections[0];
      assert.equal(inherited?.environmentId, desk.main);
      const own = await addTracker(desk, { ...TRACKER, label: "Of lab" }, lab.id);
      assert.equal(own.state, "draft");
      assert.notEqual(own.connection.id, inherited?.id);
      await publishDraft(desk, { environmentId: lab.id, author });
      assert.deepEqual(await served(desk, lab.id), ["tracker: Of lab"]);
      assert.deepEqual(await served(desk, team.id), ["tracker: Of main"]);
      const shadowing = await connectionConsequences(desk.store, own.connection.id);
      assert.equal(shadowing.uncovers, "main");

      const around = { environmentId: team.id, entered: { parent: "lab" }, author };
      await setDraftMode(desk, { environmentId: team.id, on: false });
      await assert.rejects(updateEnvironment(desk, around), code("invalid_entry", /parent: leads back/));
      const itself = updateEnvironment(desk, { ...around, entered: { parent: "team" } });
      await assert.rejects(itself, code("invalid_entry", /parent: leads back/));
      await assert.rejects(
        deleteEnvironment(desk, { environmentId: team.id, author }),
        code("in_use", /These environments inherit from team: lab/),
      );
      await assert.rejects(deleteEnvironment(desk, { environmentId: desk.main, author }), code("in_use"));
      await deleteEnvironment(desk, { environmentId: lab.id, author });
      assert.equal((await served(desk, lab.id)).length, 0);
      assert.equal(desk.registry.environment(lab.id), undefined);
      assert.equal((await make("lab", {})).id, lab.id);
      assert.deepEqual(await served(desk, lab.id), []);
    });

    it("an endpoint's address is one environment's only", async (desk) => {
      const { id } = await createEnvironment(desk, {
        organizationId: desk.organizationId,
        slug: "lab",
        entered: {},
        author,
      });
      await createEndpoint(desk, { environmentId: desk.main, slug: "support", entered: {}, author });
      assert.match(
        (await slugProblem(desk.store, { environmentId: id, kind: "endpoint", slug: "support" })) ?? "",
        /main/,
      );
      const draft = await createEndpoint(desk, { environmentId: id, slug: "support", entered: {}, author });
      assert.deepEqual(
        draft.problems.map(({ level, slug, path }) => [level, slug, path]),
        [["error", "support", "slug"]],
      );
      const published = publishDraft(desk, { environmentId: id, author });
      await assert.rejects(published, code("invalid_entry", /endpoint support: slug: the environment main has/));
      await setDraftMode(desk, { environmentId: id, on: true });
      await discardDraft(desk, { environmentId: id, author });
      await setDraftMode(desk, { environmentId: id, on: false });
      const again = createEndpoint(desk, { environmentId: id, slug: "default", entered: {}, author });
      await assert.rejects(again, code("invalid_entry", /endpoint default: slug/));
    });

    it("what a deletion breaks is told before", async (desk) => {
      const { connection } = await addTracker(desk);
      const tools = { allow: ["tracker__get_*", { tool: "get_issue", connection: "tracker" }], forbid: ["other__x"] };
      const entered = { tools, pin: ["tracker__get_issue"] };
      const { endpoint } = await createEndpoint(desk, { environmentId: desk.main, slug: "support", entered, author });
      const { organizationId } = desk;
      await createEnvironment(desk, { organizationId, slug: "lab", entered: { parent: "main" }, author });
      assert.deepEqual(await connectionConsequences(desk.store, connection.id), {
        tools: 0,
        accounts: 0,
        endpoints: [
          { environment: "main", endpoint: "support", places: ["tools.allow[0]", "tools.allow[1]", "pin[0]"] },
        ],
        inheritedBy: ["lab"],
      });
      assert.deepEqual(await endpointConsequences(desk.store, endpoint.id), {
        tokens: 0,
        tokensOnlyThere: 0,
        authorizations: 0,
        isDefault: false,
      });
      await deleteEndpoint(desk, { endpointId: endpoint.id, author });
      await desk.registry.reload();
      assert.equal(desk.registry.endpoint(undefined, "support"), undefined);
      const root = desk.registry.endpoint(undefined, undefined)?.endpoint.id ?? "";
      await assert.rejects(deleteEndpoint(desk, { endpointId: root, author }), code("in_use", /default endpoint/));
      assert.equal((await endpointConsequences(desk.store, root)).isDefault, true);
    });
  });
}

describe("the files as an author", () => {
  const START = { "connections/notes.yml": connectionFile("https://notes.example/mcp", "label: Notes") };

  test("people's connections stay beside those of files, which are changed in their files only", async (context) => {
    const desk = await authoringDesk(context, sqlite, START);
    await addTracker(desk);
    desk.dir.write({ "connections/notes.yml": connectionFile("https://notes.example/mcp", "label: Renamed") });
    const { changed } = await desk.takeFiles();
    assert.equal(changed.length, 1);
    assert.deepEqual(await served(desk), ["notes: Renamed", "tracker: tracker"]);
    const notes = desk.registry.connections().find(({ slug }) => slug === "notes")?.id ?? "";
    const words = { type: "mcp", url: "https://notes.example/mcp" };
    const change = updateConnection(desk, { connectionId: notes, entered: words, author });
    await assert.rejects(change, code("declared_in_file", /connections\/notes.yml/));
    await assert.rejects(deleteConnection(desk, { connectionId: notes, author }), code("declared_in_file"));
    desk.dir.write({ "connections/notes.yml": undefined });
    await desk.takeFiles();
    assert.deepEqual(await served(desk), ["tracker: tracker"]);
  });

  test("a file takes a connection of its name over, and the person's version can be seen", async (context) => {
    const desk = await authoringDesk(context, sqlite);
    const { connection } = await addTracker(desk);
    desk.dir.write({ "connections/tracker.yml": connectionFile("https://other.example/mcp", "label: Of the file") });
    await desk.takeFiles();
    assert.deepEqual(await served(desk), ["tracker: Of the file"]);
    assert.equal(desk.registry.connections()[0]?.id, connection.id);
    const [edit] = await listEdits(desk.store, desk.main, { kind: "connection" });
    assert.equal(edit?.author, "files");
    assert.ok(edit?.changes.some(({ path, before }) => path === "adapter.url" && before === TRACKER.url));
  });

  test("with drafts on, what the files say waits as well, once", async (context) => {
    const desk = await authoringDesk(context, sqlite, START);
    await setDraftMode(desk, { environmentId: desk.main, on: true });
    desk.dir.write({ "connections/notes.yml": connectionFile("https://notes.example/mcp", "label: Renamed") });
    const { drafted, changed } = await desk.takeFiles();
    assert.deepEqual([drafted.length, changed.length], [1, 0]);
    assert.deepEqual(await served(desk), ["notes: Notes"]);
    const { difference } = await diffVersions(desk.store, desk.main);
    assert.deepEqual(difference.connections, [
      {
        slug: "notes",
        change: "changed",
        origin: "file",
        source: "connections/notes.yml",
        differences: [{ path: "label", before: "Notes", after: "Renamed" }],
      },
    ]);
    assert.equal((await desk.takeFiles()).unchanged, 1);
    await publishDraft(desk, { environmentId: desk.main, author });
    assert.deepEqual(await served(desk), ["notes: Renamed"]);
  });

  test("files that did not change leave a version alone that somebody went back to", async (context) => {
    const desk = await authoringDesk(context, sqlite, START);
    desk.dir.write({ "connections/notes.yml": connectionFile("https://notes.example/mcp", "label: Worse") });
    await desk.takeFiles();
    await rollBack(desk, { environmentId: desk.main, number: 1, author });
    assert.deepEqual(await served(desk), ["notes: Notes"]);
    assert.equal((await desk.takeFiles()).unchanged, 1);
    assert.deepEqual(await served(desk), ["notes: Notes"]);
    desk.dir.write({ "connections/notes.yml": connectionFile("https://notes.example/mcp", "label: Better") });
    await desk.takeFiles();
    assert.deepEqual(await served(desk), ["notes: Better"]);
  });

  test("going back starts no process that the files do not declare any more", async (context) => {
    const command = (program: string) => `version: 1\nconnection:\n  type: mcp\n  command: [${program}]\n`;
    const files = { "jackfield.yml": "version: 1\nstdio: allow\n", "connections/notes.yml": command("old-notes") };
    const desk = await authoringDesk(context, sqlite, files);
    desk.dir.write({ "connections/notes.yml": command("new-notes") });
    await desk.takeFiles();
    await addTracker(desk);
    const back = rollBack(desk, { environmentId: desk.main, number: 1, author });
    await assert.rejects(back, code("invalid_entry", /connection notes: command: starts a process/));
    assert.equal((await rollBack(desk, { environmentId: desk.main, number: 2, author })).number, 4);
  });
});

describe("what cannot be entered", () => {
  const refusals: [string, object, RegExp][] = [
    ["a command", { type: "mcp", command: ["sh"] }, /^command: commands are declared in the configuration files only/],
    ["a working directory", { ...TRACKER, cwd: "/" }, /^cwd: commands are declared/],
    ["an environment of a command", { ...TRACKER, env: { A: "b" } }, /^env: commands are declared/],
    [
      "a variable of the server as a secret",
      { ...TRACKER, auth: { method: "bearer", secret: "$" + "{env:JACKFIELD_MASTER_KEY}" } },
      /^auth\.secret: variables of the server are named in the configuration files only/,
    ],
    [
      "a variable of the server in a header",
      { ...TRACKER, headers: { "X-A": "$" + "{env:HOME}" } },
      /^headers\.X-A: .*allowed in auth\.secret/,
    ],
    ["a secret in the address", { ...TRACKER, url: "https://a.example/?api_key=abc" }, /^url: the parameter api_key/],
    ["a document of this machine", { type: "openapi", spec: "/etc/passwd" }, /^spec: must be an https URL/],
    ["a document over plain http", { type: "openapi", spec: "http://a.example/a.json" }, /^spec: must be an https URL/],
    ["trust in the service's own words", { ...TRACKER, access: "suggested" }, /^access: is for files/],
    [
      "an app that is not there",
      { ...TRACKER, auth: { method: "oauth", app: "x" } },
      /^auth\.app: there is no OAuth app/,
    ],
    ["a key that does not exist", { ...TRACKER, lable: "x" }, /^lable: unknown key/],
    ["a pattern that cannot be read", { ...TRACKER, access: { read: { tools: ["{a"] } } }, /^access\.read\.tools\.0/],
  ];
  for (const [what, entered, message] of refusals) {
    test(what, async (context) => {
      const desk = await authoringDesk(context, sqlite);
      await assert.rejects(addTracker(desk, entered), code("invalid_entry", message));
      assert.deepEqual(await served(desk), []);
    });
  }

  test("something that is no connection at all", async (context) => {
    const desk = await authoringDesk(context, sqlite);
    let deep: unknown = "x";
    for (let at = 0; at < 100; at += 1) deep = [deep];
    for (const entered of [null, "mcp", [], { type: "mcp", url: "https://a.example", headers: deep }]) {
      await assert.rejects(addTracker(desk, entered), code("invalid_entry"));
    }
  });

  test("an endpoint that shows a connection that is not there", async (context) => {
    const desk = await authoringDesk(context, sqlite);
    const entered = { discovery: "transparent", connection: "tracker" };
    const change = { environmentId: desk.main, slug: "one", entered, author };
    await assert.rejects(createEndpoint(desk, change), code("invalid_entry", /there is no connection tracker/));
    await addTracker(desk, { ...TRACKER, subject: "user" });
    const { endpoint } = await createEndpoint(desk, change);
    const shared = updateEndpoint(desk, {
      endpointId: endpoint.id,
      entered: { ...entered, audience: "shared" },
      author,
    });
    await assert.rejects(shared, code("invalid_entry", /each person's own/));
  });
});
