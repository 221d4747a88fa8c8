import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { JackfieldError } from "../server/errors.ts";
import { npmEnvironment } from "../server/pieces/fetch-package.ts";
import { packageOf, readSpec, shortName } from "../server/pieces/names.ts";
import { fixturePiece, openPieceRoom } from "./fixtures/piece-room.ts";

const NEWEST = { name: "@activepieces/piece-newest", version: "1.0.0" };
const code = (actions: string, more = "") =>
  `exports.p = { displayName: "P", actions: () => (${actions}), triggers: () => ({ t: { name: "t" } }), ${more} };`;
const action = (run: string) => `{ one: { name: "one", displayName: "One", description: "", props: {}, run: ${run} } }`;

const refused = (reason: RegExp) => (error: unknown) => {
  assert.ok(error instanceof JackfieldError, String(error));
  assert.equal(error.code, "piece_refused");
  assert.match(error.message, reason);
  return true;
};

test("a name is a short one or a scoped package, with one exact version, and never a path", () => {
  assert.equal(packageOf("slack"), "@activepieces/piece-slack");
  assert.equal(packageOf("@acme/piece-crm"), "@acme/piece-crm");
  assert.equal(shortName("@acme/piece-crm"), "crm");
  assert.deepEqual(readSpec("slack@0.17.9"), { name: "@activepieces/piece-slack", version: "0.17.9" });
  for (const spec of [
    ...[
      "slack",
      "slack@latest",
      "slack@^1.0.0",
      "slack@1",
      "../slack@1.0.0",
      "a..b@1.0.0",
      "@a/../b@1.0.0",
      "@a/b/c@1.0.0",
    ],
    ...[
      "slack@1.0.0-../x",
      "file:x@1.0.0",
      "git+ssh://x@1.0.0",
      "-g@1.0.0",
      "@scope@1.0.0",
      "SLACK@1.0.0",
      "s l@1.0.0",
    ],
  ]) {
    assert.equal(readSpec(spec), undefined, spec);
  }
});

test("npm gets what it needs of the environment and no secret of ours", () => {
  const env = npmEnvironment({
    PATH: "/bin",
    HOME: "/home/x",
    HTTPS_PROXY: "http://proxy",
    npm_config_registry: "https://r",
    JACKFIELD_MASTER_KEY: "secret",
    DATABASE_URL: "mysql://u:p@h/d",
    SLACK_TOKEN: "xoxb",
    NODE_OPTIONS: "--import evil",
  });
  assert.deepEqual(Object.keys(env).sort(), [
    "HOME",
    "HTTPS_PROXY",
    "PATH",
    "npm_config_registry",
    "npm_config_update_notifier",
  ]);
});

test("a piece is fetched without its scripts, bundled, tried out and pinned", async (t) => {
  const witness = join(t.name.length > 0 ? process.cwd() : "", "node_modules", ".cache", "script-ran");
  const piece = {
    ...fixturePiece("newest"),
    scripts: { install: `node -e "require('fs').writeFileSync('${witness}','')"` },
  };
  const room = await openPieceRoom(t, [piece]);
  const outcome = await room.install(NEWEST);
  assert.equal(outcome.installed, true);
  assert.equal(outcome.integrity, room.registry.integrity(NEWEST.name, NEWEST.version));
  assert.equal(outcome.description.title, "Newest");
  assert.equal(existsSync(witness), false, "a script of the package ran");
  const folder = join(room.store.bundles, outcome.bundle);
  assert.deepEqual(readdirSync(folder).sort(), ["bundle.js", "describe.json"]);
  const lock = JSON.parse(readFileSync(join(room.dataDir, "pieces", "lock.json"), "utf8"));
  assert.equal(lock.pieces["@activepieces/piece-newest@1.0.0"].integrity, outcome.integrity);
  assert.equal(lock.pieces["@activepieces/piece-newest@1.0.0"].bundle, outcome.bundle);
  assert.deepEqual(readdirSync(join(room.dataDir, "pieces")).sort(), ["bundles", "lock.json", "npm"]);

  const asked = room.registry.asked.length;
  assert.equal((await room.install(NEWEST)).installed, false, "it is there already");
  assert.equal(room.registry.asked.length, asked, "nothing was asked for");
});

test("what has another integrity than was pinned is not installed, and what was there stays", async (t) => {
  const room = await openPieceRoom(t, [fixturePiece("newest")]);
  const wrong = `sha512-${"A".repeat(86)}==`;
  await assert.rejects(room.install({ ...NEWEST, integrity: wrong }), refused(/integrity .* not sha512-AAAA/));
  assert.equal(room.store.read().size, 0);
  const { bundle } = await room.install({ ...NEWEST, integrity: room.registry.integrity(NEWEST.name, "1.0.0") });

  const piece = fixturePiece("newest");
  room.registry.replace({ ...piece, code: `${piece.code}\n// another content for the same version` });
  room.registry.env["npm_config_cache"] = join(room.dataDir, "another-cache");
  await assert.rejects(room.install({ ...NEWEST, again: true }), refused(/not installed/));
  assert.equal(room.store.read().get("@activepieces/piece-newest@1.0.0")?.bundle, bundle);
  assert.ok(existsSync(join(room.store.bundles, bundle, "bundle.js")));
});

test("a bundle that is replaced is kept until it is replaced once more", async (t) => {
  const room = await openPieceRoom(t, [fixturePiece("newest"), fixturePiece("newest", "1.1.0")]);
  const first = await room.install(NEWEST);
  await room.install({ ...NEWEST, version: "1.1.0" });
  assert.deepEqual(
    [...room.store.read().keys()],
    ["@activepieces/piece-newest@1.0.0", "@activepieces/piece-newest@1.1.0"],
  );
  // As after another version of the bundler: the same package, another bundle.
  const other = "b".repeat(64);
  const entry = room.store.read().get("@activepieces/piece-newest@1.0.0");
  assert.ok(entry);
  room.store.put(NEWEST, { ...entry, bundle: other });
  room.store.sweep();
  assert.equal(room.store.read().get("@activepieces/piece-newest@1.0.0")?.previous, first.bundle);
  assert.ok(existsSync(join(room.store.bundles, first.bundle)));
  assert.equal(room.store.remove({ ...NEWEST, version: "1.1.0" }), true);
  assert.equal(room.store.remove(NEWEST), true);
  assert.deepEqual(readdirSync(room.store.bundles), []);
});

test("what cannot work as a tool is refused with its reason", async (t) => {
  const pieces = {
    none: code("{}"),
    flow: code(action("async (c) => c.run.pause({})")),
    sockets: `const m = require("mysql2");\n${code(action("async () => m.connect()"))}`,
    rpc: `const g = require("@grpc/grpc-js");\n${code(action("async () => g.call()"))}`,
    browser: `const p = require("playwright");\n${code(action("async () => p.chromium.launch()"))}`,
    broken: "throw new Error('I do not load');",
    nothing: "exports.x = 1;",
  };
  const reasons: Record<keyof typeof pieces, RegExp> = {
    none: /no actions: it only has triggers \(1\)/,
    flow: /flow-only/,
    sockets: /raw sockets: it contains mysql2/,
    rpc: /gRPC/,
    browser: /browser automation/,
    broken: /does not load.*I do not load/,
    nothing: /does not load|does not describe/,
  };
  const room = await openPieceRoom(t, [
    ...Object.entries(pieces).map(([name, text]) => ({ name: `@acme/piece-${name}`, version: "1.0.0", code: text })),
    ...["mysql2", "@grpc/grpc-js"].map((name) => ({ name, version: "1.0.0", code: "exports.connect = () => 1;" })),
  ]);
  room.registry.replace({
    name: "@acme/piece-sockets",
    version: "1.0.0",
    code: pieces.sockets,
    dependencies: { mysql2: "1.0.0" },
  });
  room.registry.replace({
    name: "@acme/piece-rpc",
    version: "1.0.0",
    code: pieces.rpc,
    dependencies: { "@grpc/grpc-js": "1.0.0" },
  });
  for (const [name, reason] of Object.entries(reasons)) {
    await assert.rejects(room.install({ name: `@acme/piece-${name}`, version: "1.0.0" }), refused(reason), name);
  }
  await assert.rejects(
    room.install({ name: "@acme/piece-absent", version: "1.0.0" }),
    refused(/npm could not fetch it/),
  );
  assert.equal(room.store.read().size, 0);
  assert.deepEqual(readdirSync(room.store.bundles), [], "nothing of them is left");
});

test("a version waits for its age, and one whose age nobody knows is not taken", async (t) => {
  const at = Date.parse("2026-05-01T00:00:00Z");
  const room = await openPieceRoom(t, [
    { ...fixturePiece("newest"), publishedAt: new Date(at).toISOString() },
    fixturePiece("middle"),
  ]);
  const days = 86_400_000;
  room.time.now = at + days;
  await assert.rejects(room.install({ ...NEWEST, minimumAgeMs: 3 * days }), refused(/24 hours ago.*is 72 hours/));
  room.time.now = at + 3 * days;
  assert.equal((await room.install({ ...NEWEST, minimumAgeMs: 3 * days })).installed, true);
  const middle = { name: "@activepieces/piece-middle", version: "1.0.0", minimumAgeMs: days };
  await assert.rejects(room.install(middle), refused(/does not say when it was published/));
});

test("a damaged lock file is told, and nothing is guessed", async (t) => {
  const room = await openPieceRoom(t, [fixturePiece("newest")]);
  await room.install(NEWEST);
  const path = join(room.dataDir, "pieces", "lock.json");
  writeFileSync(path, '{"version":1,"pieces":{"../../etc@1.0.0":{}}}');
  assert.throws(() => room.store.read(), /is not as it was written/);
});
