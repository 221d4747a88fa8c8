import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { keyringOf } from "../server/vault/keyring.ts";
import { type ChangingUpstream, changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connectV2, textOf } from "./fixtures/clients.ts";
import { run, runToEnd } from "./fixtures/command.ts";
import { connectionFile } from "./fixtures/connection-rooms.ts";
import { temporaryDirectory } from "./fixtures/databases.ts";

const ACCESS = 'access: { read: { tools: ["*"] } }';

interface Place {
  directory: string;
  data: string;
  env: Record<string, string>;
  upstream: ChangingUpstream;
  /** Runs a command that must succeed. */
  command(args: readonly string[], input?: string): Promise<string>;
}

/** Directories with one connection `tracker` to a service that lets in whoever sends `token`. */
async function place(context: TestContext, env: Record<string, string> = {}): Promise<Place & { token: string }> {
  const upstream = await changingUpstream(context, [tool("find")]);
  const directory = temporaryDirectory(context);
  const config = join(directory, "config");
  mkdirSync(join(config, "connections"), { recursive: true });
  writeFileSync(
    join(config, "connections", "tracker.yml"),
    connectionFile(upstream.url, "auth: { method: bearer }", ACCESS),
  );
  const data = join(directory, "data");
  const all = {
    JACKFIELD_PORT: "0",
    JACKFIELD_DATA_DIR: data,
    JACKFIELD_CONFIG_DIR: config,
    JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback",
    ...env,
  };
  const opened: Place & { token: string } = {
    directory,
    data,
    env: all,
    upstream,
    token: "canary-token-1",
    async command(args, input) {
      const { code, stdout, stderr } = await runToEnd(args, opened.env, input);
      assert.equal(code, 0, stderr);
      return stdout;
    },
  };
  upstream.admit = ({ headers }) =>
    headers.authorization === `Bearer ${opened.token}` ? undefined : { status: 401, body: "who are you?" };
  return opened;
}

/** Starts the server and waits until it serves; it ends with the test. */
async function serve(context: TestContext, { env }: Place) {
  const server = run(["serve", "--json"], env);
  context.after(() => server.child.kill("SIGKILL"));
  const [line] = await server.saw(/^\{.*\}$/m);
  const { url }: { url: string } = JSON.parse(line);
  return { server, url };
}

/** Calls the connection's tool until it answers with its own name: what was changed beside the server takes a moment. */
async function untilItWorks(url: string, token: string): Promise<void> {
  const client = await connectV2(url, token, "legacy");
  try {
    for (;;) {
      const result = await client.callTool({ name: "tool_read", arguments: { name: "tracker__find", arguments: {} } });
      if (result.isError !== true) return assert.equal(textOf(result), "find");
    }
  } finally {
    await client.close();
  }
}

test("a credential is set from standard input beside the running server, used at once, listed and deleted", async (t) => {
  const here = await place(t);
  const { command, upstream, data } = here;
  const { url } = await serve(t, here);
  const agent: { token: string } = JSON.parse(await command(["token", "create", "--name", "n", "--json"]));

  const set = await command(["credential", "set", "tracker"], "canary-token-1\n");
  assert.equal(set, "Stored tracker (secret). Used by tracker from now on.\n");
  await untilItWorks(url, agent.token);

  here.token = "canary-token-2";
  const changed = JSON.parse(await command(["credential", "set", "tracker", "--json"], "canary-token-2"));
  assert.deepEqual([changed.created, changed.usedBy], [false, ["tracker"]]);
  await untilItWorks(url, agent.token);

  const [listed] = JSON.parse(await command(["credential", "list", "--json"]));
  assert.deepEqual(
    [listed.name, listed.kind, listed.fields, listed.usedBy],
    ["tracker", "secret", ["secret"], ["tracker"]],
  );
  assert.equal(JSON.parse(await command(["connection", "check", "tracker", "--json"])).state, "healthy");
  for (const out of [
    await command(["credential", "list"]),
    await command(["connection", "list"]),
    JSON.stringify(listed),
  ])
    assert.doesNotMatch(out, /canary/);

  assert.match(await command(["credential", "delete", "tracker"]), /Without one now: tracker/);
  const refused = await runToEnd(["connection", "check", "tracker"], here.env);
  assert.match(
    refused.stderr,
    /^jackfield: tracker does not work \(authorization_required\): There is no credential tracker/,
  );
  assert.ok(upstream.requests.length > 0);
  for (const name of readdirSync(data)) {
    assert.ok(!readFileSync(join(data, name)).includes("canary-token"), `${name} holds the secret`);
  }
});

test("a value on the command line, none at all, a wrong name and a wrong kind are refused in one line", async (t) => {
  const { env, command } = await place(t);
  await command(["credential", "set", "tracker"], "canary");
  for (const [args, input, says] of [
    [["set", "tracker", "canary-in-argv"], "", /too many arguments/],
    [["set", "tracker"], "", /There is no value/],
    [["set", "Tracker!"], "canary", /is named with/],
    [["set", "tracker", "--field", "client_id"], "canary", /holds one secret/],
    [["delete", "nobody"], "", /There is no credential nobody \(there are: tracker\)/],
    [["set", "x", "--organization", "nowhere"], "canary", /There is no organization nowhere/],
  ] as const) {
    const { code, stderr, stdout } = await runToEnd(["credential", ...args], env, input);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.match(stderr, /^jackfield: [^\n]+\n$/);
    assert.doesNotMatch(`${stdout}${stderr}`, /canary/);
  }
});

test("a new master key is made and everything sealed again while the server runs; then the old key may go", async (t) => {
  const here = await place(t);
  const { command, data } = here;
  const agent: { token: string } = JSON.parse(await command(["token", "create", "--name", "n", "--json"]));
  await command(["credential", "set", "tracker"], here.token);
  const { server, url } = await serve(t, here);
  await untilItWorks(url, agent.token);

  const rotated = JSON.parse(await command(["vault", "rotate", "--new-key", "--json"]));
  assert.equal(rotated.unreadable, 0);
  assert.ok(rotated.resealed >= 1);
  assert.equal(rotated.olderKeyIds.length, 1);
  here.token = "canary-token-3";
  await command(["credential", "set", "tracker"], here.token);
  await untilItWorks(url, agent.token);
  server.child.kill("SIGTERM");
  assert.equal((await server.end).code, 0);

  const file = join(data, "master.key");
  const [newest = ""] = readFileSync(file, "utf8").split("\n");
  assert.equal(keyringOf(Buffer.from(newest, "base64url")).keyId, rotated.keyId);
  writeFileSync(file, `${newest}\n`);
  const again = await serve(t, here);
  await untilItWorks(again.url, agent.token);
  assert.equal(JSON.parse(await command(["vault", "rotate", "--json"])).resealed, 0);
});

test("the database without its key opens nothing, and says so", async (t) => {
  const here = await place(t);
  await here.command(["credential", "set", "tracker"], here.token);
  const stolen = join(here.directory, "stolen");
  mkdirSync(stolen, { mode: 0o700 });
  for (const name of readdirSync(here.data)) {
    if (name.startsWith("jackfield.db")) copyFileSync(join(here.data, name), join(stolen, name));
  }
  const env = { ...here.env, JACKFIELD_DATA_DIR: stolen };
  here.upstream.requests.length = 0;
  const started = run(["serve"], env);
  await started.saw(/serves MCP at/);
  started.child.kill("SIGTERM");
  await started.end;
  const check = await runToEnd(["connection", "check", "tracker"], env);
  assert.match(check.stderr, /cannot be opened\. An administrator must set it again/);
  const rotate = await runToEnd(["vault", "rotate"], env);
  assert.equal(rotate.code, 1);
  assert.match(rotate.stderr, /^jackfield: 1 sealed text is left that no master key here opens/);
  assert.deepEqual(here.upstream.requests, []);
});
