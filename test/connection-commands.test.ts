import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { run, runToEnd } from "./fixtures/command.ts";

const FILES = `version: 1
connection:
  type: mcp
  label: Files
  command: [mcp-server-filesystem, ./files]
  review: strict
  access:
    read: { tools: ["read_*", "list_*"] }
    write: { tools: ["write_*"], approval: always }
`;
const BROKEN = `version: 1
connection:
  type: mcp
  command: [no-such-program-here]
  access: { read: { tools: ["*"] } }
`;

describe("the connection commands", () => {
  let folder: string;
  let env: Record<string, string>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "connection-commands-"));
    const config = join(folder, "config");
    env = { JACKFIELD_PORT: "0", JACKFIELD_DATA_DIR: join(folder, "data"), JACKFIELD_CONFIG_DIR: config };
    await mkdir(join(config, "connections"), { recursive: true });
    await mkdir(join(config, "files"));
    await writeFile(join(config, "jackfield.yml"), "version: 1\nstdio: allow\n");
    await writeFile(join(config, "connections", "files.yml"), FILES);
    await writeFile(join(config, "connections", "broken.yml"), BROKEN);
    const server = run([], env);
    await server.saw(/serves MCP at/);
    server.child.kill("SIGTERM");
    assert.equal((await server.end).code, 0);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await runToEnd(["connection", ...args, "--json"], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  it("fetch a connection's tools and say what the access rules make of them", async () => {
    assert.equal((await json("refresh", "files")).ok, true);
    const tools: { action: string; class: string; approval: string; state: string; name: string }[] = await json(
      "tools",
      "files",
    );
    const named = (action: string) => tools.find((tool) => tool.action === action);
    assert.deepEqual(
      [named("read_text_file")?.class, named("write_file")?.class, named("move_file")?.class],
      ["read", "write", "unclassified"],
    );
    assert.deepEqual([named("read_text_file")?.approval, named("write_file")?.approval], ["none", "required"]);
    assert.equal(named("write_file")?.name, "files__write_file");
    assert.ok(tools.every((tool) => tool.state === "pending"));
  });

  it("show what waits for review and accept only what the pattern names", async () => {
    const waiting = await runToEnd(["connection", "review", "files"], env);
    assert.match(waiting.stdout, /waiting {2}files__write_file {2}\(new\)/);
    assert.match(waiting.stdout, /\+ description: /);

    await json("review", "files", "--accept", "read_*");
    const states = new Map<string, string>(
      (await json("tools", "files")).map((tool: { action: string; state: string }) => [tool.action, tool.state]),
    );
    assert.equal(states.get("read_text_file"), "approved");
    assert.equal(states.get("write_file"), "pending");

    const nothing = await runToEnd(["connection", "review", "files", "--accept", "no_such_*"], env);
    assert.equal(nothing.code, 1);
    assert.match(nothing.stderr, /^jackfield: Nothing that waits matches no_such_\*\.\n$/);
  });

  it("ask a service now: one that works, and one that does not with its reason and exit code 1", async () => {
    assert.equal((await json("check", "files")).state, "healthy");
    const broken = await runToEnd(["connection", "check", "broken"], env);
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /^jackfield: broken does not work \(\w+\): .+\n$/);
    const asJson = await runToEnd(["connection", "check", "broken", "--json"], env);
    assert.equal(asJson.code, 1);
    assert.equal(JSON.parse(asJson.stdout).state, "unhealthy");
  });

  it("list every connection with its health", async () => {
    const list: { slug: string; health: string }[] = await json("list");
    assert.deepEqual(
      list.map(({ slug, health }) => [slug, health]),
      [
        ["broken", "unhealthy"],
        ["files", "healthy"],
      ],
    );
  });
});
