/**
 * Secrets of a form that is found again wherever it turns up are put into every place that takes one, and everything
 * that can go wrong with them does. None may be in an answer, a log line, an audit row, an error, a page, a metric or
 * any byte of the data directory.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { QueryTypes } from "sequelize";
import { checkUnsaved } from "../server/connections/check.ts";
import { createLog } from "../server/observe/log.ts";
import { startAuthorizationServer } from "./fixtures/authorization-server.ts";
import { type ChangingUpstream, changingUpstream, tool } from "./fixtures/changing-upstream.ts";
import { connect, connectV2, FLAVOURS } from "./fixtures/clients.ts";
import { run, runToEnd } from "./fixtures/command.ts";
import { connectionFile, openRooms } from "./fixtures/connection-rooms.ts";
import { freePort, temporaryDirectory } from "./fixtures/databases.ts";
import { startProduct } from "./fixtures/product.ts";
import { startProtectedUpstream } from "./fixtures/upstreams/protected.ts";

const MARK = "QuetzalBird";
const canary = (where: string) => `${MARK}-${where}-0123456789`;
/** As it is, and in the forms in which a program may have passed it on. */
const LEAK = new RegExp(
  [MARK, Buffer.from(MARK).toString("hex"), ...[0, 1, 2].map((shift) => base64Core(shift))].join("|"),
);
const STDIO_SERVER = join(import.meta.dirname, "fixtures/upstreams/stdio-server.ts");

/** The characters that base64 makes of the mark whatever stands around it. */
function base64Core(shift: number): string {
  const text = Buffer.from(`${"x".repeat(shift)}${MARK}xx`).toString("base64");
  const from = Math.ceil((shift * 8) / 6);
  return text.slice(from, Math.floor(((shift + MARK.length) * 8) / 6)).replaceAll("+", "\\+");
}

function assertClean(what: string, text: string | Buffer): void {
  const found = LEAK.exec(text.toString("latin1"));
  const around = found ? text.toString("latin1").slice(Math.max(0, found.index - 200), found.index + 100) : "";
  assert.ok(!found, `${what} holds a secret: ${JSON.stringify(around)}`);
}

/** Every byte of the directory, whatever file it is in. */
function assertCleanFiles(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) assertClean(entry.name, readFileSync(join(entry.parentPath, entry.name)));
  }
}

/** A service that tells back whatever it was sent, in its answers and in its refusals. */
async function echo(context: TestContext): Promise<ChangingUpstream> {
  const upstream = await changingUpstream(context, [tool("tell"), tool("fail")]);
  const sent = () => JSON.stringify(upstream.requests.at(-1));
  upstream.answer = (name) => {
    if (name === "fail") throw new Error(`failed with ${sent()}`);
    return sent();
  };
  return upstream;
}

test("no secret leaves by an answer, an error, the log, the audit or the database", async (t) => {
  process.env["BIRD_TOKEN"] = canary("env");
  process.env["BIRD_COMMAND"] = canary("command");
  t.after(() => {
    delete process.env["BIRD_TOKEN"];
    delete process.env["BIRD_COMMAND"];
  });
  const upstream = await echo(t);
  const server = await startAuthorizationServer({
    clients: { "the-client": { secret: canary("client-secret") } },
    pkce: false,
  });
  const minted = await startProtectedUpstream(server);
  t.after(async () => {
    await minted.close();
    await server.close();
  });
  const access = { read: { tools: ["*"] } };
  const web = (auth: object) => ({ type: "mcp", url: upstream.url, auth, access });
  const logged: string[] = [];
  const log = createLog(
    { log: { level: "debug", format: "json" } },
    { destination: { write: (line: string) => logged.push(line) } },
  );
  await using product = await startProduct({
    log,
    files: { "jackfield.yml": "version: 1\nstdio: allow\n" },
    connections: {
      bearer: web({ method: "bearer" }),
      header: web({ method: "api_key", name: "X-API-Key" }),
      exact: web({ method: "api_key", name: "Authorization" }),
      query: web({ method: "api_key", in: "query", name: "key" }),
      variable: web({ method: "bearer", secret: `\${env:BIRD_TOKEN}` }),
      unsendable: web({ method: "bearer" }),
      unreadable: web({ method: "bearer" }),
      blocked: {
        type: "mcp",
        url: "https://10.0.0.1/mcp",
        auth: { method: "api_key", in: "query", name: "key" },
        access,
      },
      closed: { type: "mcp", url: "http://127.0.0.1:1/mcp", auth: { method: "bearer" }, access },
      minted: { type: "mcp", url: minted.url, auth: { method: "client_credentials" }, access },
      command: {
        type: "mcp",
        command: [process.execPath, STDIO_SERVER],
        env: { BIRD: `\${env:BIRD_COMMAND}` },
        access,
      },
    },
  });
  const { credentials, store } = product.app;
  const organizationId = product.app.registry.endpoint(undefined, undefined)?.endpoint.organizationId ?? "";
  const set = (name: string, values: Record<string, string>) =>
    credentials.set({ organizationId, name, values, by: "test" });
  const stored = ["bearer", "header", "exact", "query", "unreadable", "blocked", "closed"];
  for (const name of stored) await set(name, { secret: canary(name) });
  await set("unsendable", { secret: `${canary("two")}\nlines` });
  await set("minted", { client_id: "the-client", client_secret: canary("client-secret") });
  const owner = (await credentials.find(organizationId, "unreadable"))?.id ?? "";
  const other = (await credentials.find(organizationId, "bearer"))?.id ?? "";
  const moved = await store.models.secrets.findOne({ where: { owner: other } });
  await store.models.secrets.update({ sealed: moved?.sealed ?? "" }, { where: { owner } });
  await set("other", { secret: canary("other") });
  await product.app.registry.reload();

  const answers: string[] = [];
  const listening: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const headers = JSON.stringify([...response.headers]);
    if (!response.body) return response;
    const [body, copy] = response.body.tee();
    new Response(copy).text().then(
      (text) => answers.push(headers, text),
      () => answers.push(headers),
    );
    return new Response(body, response);
  };
  const token = await product.token({ scopes: ["mcp:read", "mcp:write", "mcp:pair"] });
  const seen: unknown[] = [];
  const attempt = async (work: () => Promise<unknown>) => {
    try {
      seen.push(await work());
    } catch (error) {
      seen.push(error instanceof Error ? `${error.stack} ${JSON.stringify(error)}` : error);
    }
  };
  const slugs = product.app.registry.connections().map(({ slug }) => slug);
  const everything = async () => {
    for (const flavour of FLAVOURS) {
      const client = await connect(flavour, product.url, token, {}, listening);
      await attempt(() => client.listTools());
      await attempt(() => client.callTool({ name: "tool_search", arguments: { query: "tell", activate: false } }));
      for (const slug of slugs) {
        for (const name of [`${slug}__tell`, `${slug}__fail`, `${slug}__environment`, `${slug}__echo`]) {
          await attempt(() => client.callTool({ name: "tool_read", arguments: { name, arguments: {} } }));
        }
      }
      for (const packet of [`jackfield-pair: https://provider.example ${canary("claim")}`, canary("packet")]) {
        await attempt(() => client.callTool({ name: "pair", arguments: { packet } }));
        await attempt(() => client.callTool({ name: "pair", arguments: { packet, connection: "bearer" } }));
      }
      await client.close();
    }
  };
  await everything();
  assert.ok(JSON.stringify(seen).includes("[secret]"), "the service told nothing back: the test tests nothing");
  assert.ok(upstream.requests.some(({ url }) => url.searchParams.get("key") === canary("query")));
  assert.ok(server.seen("token").length > 0);
  for (const status of [400, 401, 403, 404, 429, 500]) {
    upstream.admit = (request) => ({ status, body: JSON.stringify({ message: `no: ${JSON.stringify(request)}` }) });
    server.behaviour.shape = () => ({
      status,
      type: "application/json",
      body: JSON.stringify({ error: "invalid_client", error_description: `wrong: ${canary("client-secret")}` }),
    });
    await set("minted", { client_secret: canary(`client-secret-${status}`) });
    await everything();
  }
  await product.app.registry.reload();
  assertClean("an answer", JSON.stringify(seen));
  assertClean("the wire", answers.join("\n"));
  const audit = await store.models.auditEvents.findAll();
  assertClean("the audit", JSON.stringify(audit));
  const all = await credentials.list(organizationId);
  assertClean("the list of credentials", JSON.stringify(all));
  await product.stop();
  assertClean("the log", logged.join(""));
  assertClean("the token in the log", logged.join("").replaceAll(token, MARK));
  assertCleanFiles(join(product.directory, "data"));
});

test("a process that is killed in mid-call leaves no secret behind", async (t) => {
  const upstream = await echo(t);
  const { dir } = await openRooms(t, {
    "connections/tracker.yml": connectionFile(
      upstream.url,
      "auth: { method: bearer }",
      'access: { read: { tools: ["t*"] }, write: { tools: ["f*"] } }',
    ),
  });
  const data = join(temporaryDirectory(t), "data");
  const env = {
    JACKFIELD_PORT: "0",
    JACKFIELD_DATA_DIR: data,
    JACKFIELD_CONFIG_DIR: dir.path,
    JACKFIELD_ALLOW_PRIVATE_UPSTREAMS: "loopback",
    JACKFIELD_LOG: "debug,json",
  };
  const set = await runToEnd(["credential", "set", "tracker"], env, canary("crash"));
  assert.equal(set.code, 0, set.stderr);
  const made = await runToEnd(["token", "create", "--name", "n", "--json"], env);
  const { token }: { token: string } = JSON.parse(made.stdout);
  const serving = run(["serve", "--json"], env);
  t.after(() => serving.child.kill("SIGKILL"));
  const [line] = await serving.saw(/^\{"url".*\}$/m);
  const client = await connectV2(JSON.parse(line).url, token, "legacy");
  const arrived = new Promise<void>((resolve) => {
    upstream.answer = () => {
      resolve();
      throw new Error(`failed with ${JSON.stringify(upstream.requests.at(-1))}`);
    };
  });
  for (;;) {
    const found = await client.callTool({ name: "tool_search", arguments: { query: "fail", activate: false } });
    if (JSON.stringify(found).includes("tracker__fail")) break;
  }
  const calling = client.callTool({ name: "tool_write", arguments: { name: "tracker__fail", arguments: {} } });
  calling.catch(() => undefined);
  await arrived;
  serving.child.kill("SIGKILL");
  const { stdout, stderr } = await serving.end;
  await client.close();
  assert.ok(upstream.requests.some(({ headers }) => headers.authorization === `Bearer ${canary("crash")}`));
  assertClean("what it wrote", `${stdout}${stderr}${set.stdout}${set.stderr}`);
  assertCleanFiles(data);
  const tail = await runToEnd(["audit", "tail", "--json"], env);
  assertClean("the audit", tail.stdout);
});

test("a connection is tried before it is saved, which stores nothing and tells no secret", async (t) => {
  const upstream = await echo(t);
  upstream.admit = ({ headers }) =>
    headers.authorization === `Bearer ${canary("right")}`
      ? undefined
      : { status: 401, body: JSON.stringify({ message: `not with ${headers.authorization}` }) };
  const { store, credentials, shared, connection } = await openRooms(t, {
    "connections/a.yml": connectionFile(upstream.url, "auth: { method: bearer }"),
  });
  const { organizationId } = connection("a");
  const counts = async () => {
    const tables = Object.values(store.models).map((model) => String(model.getTableName()));
    const sql = tables
      .map((table) => `SELECT '${table}' AS name, COUNT(*) AS number FROM \`${table}\``)
      .join(" UNION ALL ");
    return store.sequelize.query(sql, { type: QueryTypes.SELECT });
  };
  const before = await counts();
  let messages = 0;
  for (const topic of ["credentials", "catalogue", "environment"]) shared.bus.subscribe(topic, () => messages++);
  const parts = {
    credentials,
    fetch: globalThis.fetch,
    fetchStream: globalThis.fetch,
    env: {},
    identity: { name: "jackfield", version: "0.0.0" },
    hop: { header: "jackfield-hop", value: "test" },
    log: createLog({ log: { level: "silent", format: "json" } }),
  };
  const draft = {
    slug: "draft",
    organizationId,
    type: "mcp" as const,
    config: { url: upstream.url },
    auth: { method: "bearer" as const },
    asks: "none" as const,
    values: {},
  };
  const tried = async (more: object) => {
    const checked = await checkUnsaved(parts, { ...draft, ...more });
    assertClean("the answer", JSON.stringify(checked));
    return checked;
  };
  const right = await tried({ values: { secret: canary("right") } });
  assert.deepEqual([right.state, right.message], ["healthy", "changing 1.0.0 (MCP 2025-11-25)"]);
  const wrong = await tried({ values: { secret: canary("wrong") } });
  assert.deepEqual([wrong.state, wrong.code], ["unhealthy", "authentication_required"]);
  assert.match(wrong.message ?? "", /^The service requires authentication: /);
  assert.equal((await tried({})).code, "authorization_required");
  const unsigned = await tried({ auth: { method: "oauth" } });
  assert.equal(unsigned.code, "authentication_required");
  const gone = await tried({
    config: { url: `http://127.0.0.1:${await freePort()}/` },
    values: { secret: canary("right") },
  });
  assert.equal(gone.code, "upstream_unreachable");
  assert.deepEqual(await counts(), before);
  assert.equal(messages, 0);

  await credentials.set({ organizationId, name: "draft", values: { secret: canary("right") }, by: "test" });
  assert.equal((await tried({})).state, "healthy");
  assert.equal((await tried({ values: { secret: canary("wrong") } })).state, "unhealthy");
});
