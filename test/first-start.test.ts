import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { type Running, run, runToEnd } from "./fixtures/command.ts";

const TOKEN = /jkf_agt_[A-Za-z0-9_-]{43}_[0-9A-Za-z]{6}/;
const SERVES = /serves MCP at (http:\S+)/;

describe("the first start", () => {
  let folder: string;
  let env: Record<string, string>;
  const running = new Set<Running>();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "first-start-"));
    env = {
      JACKFIELD_PORT: "0",
      JACKFIELD_DATA_DIR: join(folder, "data"),
      JACKFIELD_CONFIG_DIR: join(folder, "config"),
    };
  });
  afterEach(async () => {
    for (const server of running) await stop(server);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const serve = (): Running => {
    const server = run([], env);
    running.add(server);
    return server;
  };
  const stop = async (server: Running) => {
    running.delete(server);
    server.child.kill("SIGTERM");
    return server.end;
  };
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

  /** `tools/list` in the stateless revision. */
  const list = (url: string, token: string) =>
    fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/list",
        params: {
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });

  it("makes a private data directory, the samples and a token in a private file whose path it prints", async () => {
    const server = serve();
    const [, url = ""] = await server.saw(SERVES);
    await server.saw(/curl -sS/);
    const said = server.stdout();
    assert.match(said, new RegExp(`copied to ${env["JACKFIELD_CONFIG_DIR"]}`));
    assert.equal(await mode(env["JACKFIELD_DATA_DIR"] ?? ""), "700");
    const tokenFile = /token is in (\S+)/.exec(said)?.[1] ?? "";
    assert.equal(await mode(tokenFile), "600");
    const token = (await readFile(tokenFile, "utf8")).trim();
    assert.match(token, new RegExp(`^${TOKEN.source}$`));
    assert.ok(!said.includes(token), "nothing but the file holds the token where no person reads along");
    assert.match(said, /claude mcp add --transport http jackfield http/);
    assert.ok((await stat(join(folder, "config", "jackfield.yml"))).isFile());

    assert.equal((await list(url, token)).status, 200);
    assert.equal((await list(url, `${token.slice(0, -1)}x`)).status, 401);

    const { code, signal } = await stop(server);
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
  });

  it("is not repeated: a second start keeps token and configuration and makes no new ones", async () => {
    const tokenFile = join(folder, "data", "first-token");
    const token = (await readFile(tokenFile, "utf8")).trim();
    const marked = join(folder, "config", "jackfield.yml");
    await writeFile(marked, `${await readFile(marked, "utf8")}# kept\n`);

    const server = serve();
    const [, url = ""] = await server.saw(SERVES);
    assert.equal((await list(url, token)).status, 200);
    const { code, stdout } = await stop(server);
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, TOKEN);
    assert.doesNotMatch(stdout, /copied|token is in/);
    assert.equal((await readFile(tokenFile, "utf8")).trim(), token);
    assert.match(await readFile(marked, "utf8"), /# kept/);
    const tokens = JSON.parse((await runToEnd(["token", "list", "--json"], env)).stdout);
    assert.equal(tokens.length, 1);
  });

  it("reads the files again on SIGHUP; a wrong one is logged with line and key and changes nothing", async () => {
    const server = serve();
    const [, url = ""] = await server.saw(SERVES);
    const token = (await readFile(join(folder, "data", "first-token"), "utf8")).trim();
    const extra = join(folder, "config", "endpoints", "extra.yml");
    await writeFile(extra, "version: 1\nendpoint:\n  labl: Extra\n");
    try {
      server.child.kill("SIGHUP");
      await server.saw(/endpoints\/extra\.yml:3: endpoint\.labl/);
      assert.equal((await list(url, token)).status, 200);
      await writeFile(extra, "version: 1\nendpoint:\n  label: Extra\n");
      server.child.kill("SIGHUP");
      await server.saw(/configuration read again/);
    } finally {
      await rm(extra);
    }
    assert.equal((await stop(server)).code, 0);
  });

  it("ends in one line and exit code 1 where the port is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    try {
      const { port } = taken.address() as AddressInfo;
      const { code, stderr, stdout } = await runToEnd([], {
        ...env,
        JACKFIELD_PORT: String(port),
        JACKFIELD_LOG: "error",
      });
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`jackfield: port ${port} on 127\\.0\\.0\\.1 is taken.*\\n$`));
      assert.doesNotMatch(stderr + stdout, /\n\s+at /);
    } finally {
      taken.close();
    }
  });

  it("ends in one line and exit code 1 where the data directory cannot be made", async () => {
    const file = join(folder, "in-the-way");
    await writeFile(file, "");
    for (const dataDir of [file, join(file, "data")]) {
      const { code, stderr } = await runToEnd([], { ...env, JACKFIELD_DATA_DIR: dataDir });
      assert.equal(code, 1);
      assert.match(stderr, /^jackfield: .+\n$/);
      assert.ok(stderr.includes(dataDir));
    }
  });

  it("ends in one line and exit code 1 where a configuration file is wrong", async () => {
    const extra = join(folder, "config", "endpoints", "wrong.yml");
    await writeFile(extra, "version: 1\nendpoint:\n  discovery: everything\n");
    try {
      const { code, stderr } = await runToEnd([], { ...env, JACKFIELD_LOG: "error" });
      assert.equal(code, 1);
      assert.match(stderr, /endpoints\/wrong\.yml:3: endpoint\.discovery/);
      assert.doesNotMatch(stderr, /\n\s+at /);
    } finally {
      await rm(extra);
    }
  });
});
