import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { clientConfigurations } from "../server/cli/client-config.ts";
import { run, runToEnd } from "./fixtures/command.ts";

describe("the command line", () => {
  let folder: string;
  let env: Record<string, string>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "cli-"));
    env = {
      JACKFIELD_DATA_DIR: join(folder, "data"),
      JACKFIELD_CONFIG_DIR: join(folder, "config"),
      SUPPORT_TOKEN: "set",
    };
    await mkdir(join(folder, "config", "endpoints"), { recursive: true });
    await mkdir(join(folder, "config", "connections"), { recursive: true });
    await writeFile(join(folder, "config", "endpoints", "support.yml"), "version: 1\nendpoint:\n  label: Support\n");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const jackfield = (...args: string[]) => runToEnd(args, env);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await jackfield(...args, "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  it("makes a token as JSON, lists it without the secret, and revokes it by its id", async () => {
    const made = await json("token", "create", "--name", "night agent", "--var", "team=web", "--expires", "90d");
    assert.match(made.token, /^jkf_agt_[A-Za-z0-9_-]{43}_[0-9A-Za-z]{6}$/);
    const inNinetyDays = Date.now() + 90 * 86_400_000;
    assert.ok(Math.abs(Date.parse(made.expiresAt) - inNinetyDays) < 60_000);

    const listed = await jackfield("token", "list", "--json");
    assert.ok(!listed.stdout.includes(made.token));
    const row = JSON.parse(listed.stdout).find((token: { id: string }) => token.id === made.id);
    assert.deepEqual(
      { name: row.name, state: row.state, endpoints: row.endpoints, scopes: row.scopes, variables: row.variables },
      {
        name: "night agent",
        state: "active",
        endpoints: ["default"],
        scopes: ["mcp:read", "mcp:write"],
        variables: { team: "web" },
      },
    );
    assert.equal(row.hash, undefined);

    await json("token", "revoke", made.id);
    const again = await json("token", "list");
    assert.equal(again.find((token: { id: string }) => token.id === made.id).state, "revoked");
    const twice = await jackfield("token", "revoke", made.id);
    assert.equal(twice.code, 1);
  });

  it("makes a token for an endpoint that is declared in a file and not served yet", async () => {
    const made = await json("token", "create", "--name", "helper", "--endpoint", "support", "--scopes", "mcp:read");
    assert.deepEqual(
      { endpoints: made.endpoints, scopes: made.scopes },
      { endpoints: ["support"], scopes: ["mcp:read"] },
    );
  });

  it("keeps a token for ever only where it is told to", async () => {
    assert.equal((await json("token", "create", "--name", "old", "--expires", "never")).expiresAt, null);
  });

  for (const [what, args, words] of [
    [
      "an endpoint that does not exist",
      ["token", "create", "--name", "x", "--endpoint", "nowhere"],
      /no endpoint nowhere/,
    ],
    ["an organization that does not exist", ["token", "list", "--organization", "acme"], /no organization acme/],
    ["a scope that does not exist", ["token", "create", "--name", "x", "--scopes", "mcp:all"], /mcp:all/],
    ["a span without a unit", ["token", "create", "--name", "x", "--expires", "90"], /90d/],
    ["a variable without a value", ["token", "create", "--name", "x", "--var", "team"], /name=value/],
    ["a token without a name", ["token", "create"], /--name/],
    ["a connection that does not exist", ["connection", "tools", "tracker"], /no connection tracker/],
    ["a command that does not exist", ["tokens"], /tokens/],
    ["an option that does not exist", ["token", "list", "--all"], /--all/],
  ] as const) {
    it(`refuses ${what} in one line with exit code 1`, async () => {
      const { code, stdout, stderr } = await jackfield(...args);
      assert.equal(code, 1);
      assert.equal(stdout, "");
      assert.match(stderr, words);
      assert.match(stderr, /^jackfield: .+\n$/);
    });
  }

  it("says file, line and key of what is wrong in the configuration", async () => {
    const wrong = join(folder, "config", "connections", "tracker.yml");
    await writeFile(wrong, "version: 1\nconnection:\n  type: mcp\n  urll: https://mcp.tracker.example/mcp\n");
    try {
      const { code, stderr } = await jackfield("config", "check");
      assert.equal(code, 1);
      assert.match(stderr, /connections\/tracker\.yml:4: connection\.urll: /);
      const asJson = await jackfield("config", "check", "--json");
      assert.equal(asJson.code, 1);
      const report = JSON.parse(asJson.stdout);
      assert.equal(report.ok, false);
      const known = report.errors.find((error: { key?: string }) => error.key === "connection.urll");
      assert.deepEqual({ file: known.file, line: known.line }, { file: "connections/tracker.yml", line: 4 });
    } finally {
      await rm(wrong);
    }
    assert.deepEqual((({ ok, endpoints }) => ({ ok, endpoints }))(await json("config", "check")), {
      ok: true,
      endpoints: 1,
    });
  });

  it("names the variable that is wrong", async () => {
    const { code, stderr } = await runToEnd(["token", "list"], { ...env, JACKFIELD_PORT: "many" });
    assert.equal(code, 1);
    assert.match(stderr, /^jackfield: .*JACKFIELD_PORT.*\n$/);
  });

  it("migrates once and finds nothing to do the second time", async () => {
    const fresh = { ...env, JACKFIELD_DATA_DIR: join(folder, "migrated") };
    const first = await runToEnd(["migrate", "--json"], fresh);
    assert.ok(JSON.parse(first.stdout).applied.length > 0);
    const second = await runToEnd(["migrate", "--json"], fresh);
    assert.deepEqual(JSON.parse(second.stdout), { applied: [] });
  });

  it("makes a further organization whose tokens are its own", async () => {
    assert.equal((await json("organization", "create", "acme")).slug, "acme");
    const made = await json("token", "create", "--name", "acme agent", "--organization", "acme");
    const ids = (list: { id: string }[]) => list.map(({ id }) => id);
    assert.ok(ids(await json("token", "list", "--organization", "acme")).includes(made.id));
    assert.ok(!ids(await json("token", "list")).includes(made.id));
    assert.equal((await jackfield("organization", "create", "acme")).code, 1);
  });

  it("ends quietly where its reader goes away", async () => {
    const listing = run(["token", "list"], env);
    listing.child.stdout?.destroy();
    const { code, stderr } = await listing.end;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  });

  it("prints an empty audit as no lines", async () => {
    const fresh = { ...env, JACKFIELD_DATA_DIR: join(folder, "unused") };
    const { code, stdout } = await runToEnd(["audit", "tail", "--json"], fresh);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "" });
  });

  it("answers --help of every command with exit code 0", async () => {
    for (const args of [[], ["serve"], ["token", "create"], ["connection", "review"], ["config", "check"]]) {
      const { code, stdout } = await jackfield(...args, "--help");
      assert.equal(code, 0);
      assert.match(stdout, /Usage: jackfield/);
    }
  });
});

describe("the client configurations", () => {
  const url = "http://127.0.0.1:7420/mcp";
  const all = clientConfigurations({ url, token: "jkf_agt_x", shellToken: "$(cat 'a file')" });

  it("are complete: each names the URL and carries the token", () => {
    for (const { client, text } of all) {
      assert.ok(text.includes(url), client);
      assert.match(text, /Bearer (jkf_agt_x|\$\(cat 'a file'\))/, client);
    }
  });

  it("of editors are JSON in the shape each editor reads", () => {
    const parsed = new Map(
      all.filter(({ text }) => text.startsWith("{")).map(({ client, text }) => [client, JSON.parse(text)]),
    );
    const headers = { Authorization: "Bearer jkf_agt_x" };
    assert.deepEqual(parsed.get("Cursor"), { mcpServers: { jackfield: { url, headers } } });
    assert.deepEqual(parsed.get("VS Code"), { servers: { jackfield: { type: "http", url, headers } } });
    assert.deepEqual(parsed.get("Any other client"), { mcpServers: { jackfield: { type: "http", url, headers } } });
  });
});
