import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type JsonObject, type Question, UpstreamError } from "../adapters/contract.ts";
import { mcpAdapter } from "../adapters/mcp/index.ts";
import { testCall, testContext, textOf } from "./contract/adapter.ts";

const SERVER = fileURLToPath(new URL("./fixtures/upstreams/stdio-server.ts", import.meta.url));

const command = (...flags: string[]) => [process.execPath, SERVER, ...flags];

/** Opens a session with the stdio server of the tests; it ends with the test. */
async function opened(t: test.TestContext, config: JsonObject, over: Parameters<typeof testContext>[1] = {}) {
  const context = testContext(config, over);
  const session = await mcpAdapter.open(context);
  t.after(() => session.close());
  return { session, context };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return true;
}

/** A killed process stays a zombie until somebody reaps it; that is as dead as it gets. */
async function isGone(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return true;
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
  return stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
}

async function scratch(t: test.TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "stdio-test-"));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

test("closing ends the child and what it started, though both ignore SIGTERM", async (t) => {
  const file = join(await scratch(t), "pids.json");
  const { session } = await opened(t, { command: command("--child", file, "--ignores-sigterm") });
  const pids: number[] = JSON.parse(await readFile(file, "utf8"));
  assert.equal(pids.length, 2);
  assert.ok(pids.every(isAlive));
  await session.close();
  for (const pid of pids) assert.ok(await isGone(pid), `process ${pid} is still there`);
});

test("a child that dies takes what it started with it", async (t) => {
  const file = join(await scratch(t), "pids.json");
  const { session } = await opened(t, { command: command("--child", file) });
  const [, grandchild = 0] = JSON.parse(await readFile(file, "utf8")) as number[];
  await assert.rejects(session.callTool("die", {}, testCall()));
  await session.close();
  assert.ok(await isGone(grandchild));
});

test("the child gets a minimal environment, the literal one of its file, and no shell", async (t) => {
  process.env["JACKFIELD_MASTER_KEY"] = "the keys of the house";
  t.after(() => void delete process.env["JACKFIELD_MASTER_KEY"]);
  const directory = await scratch(t);
  const env = { LOG: "debug", LITERAL: "$HOME `id`" };
  const { session } = await opened(t, { command: command("$(touch pwned)", "; exit 1"), cwd: directory, env });
  const seen = JSON.parse(textOf(await session.callTool("environment", {}, testCall())));
  assert.equal(seen.cwd, directory);
  assert.equal(seen.env.LOG, "debug");
  assert.equal(seen.env.LITERAL, "$HOME `id`");
  const allowed = ["PATH", "HOME", "LANG", "TMPDIR", "LOG", "LITERAL"];
  for (const name of Object.keys(seen.env))
    assert.ok(allowed.includes(name), `${name} is none of the child's business`);
  const path = seen.env.PATH.split(":");
  assert.ok(path[0].endsWith("/node_modules/.bin"));
  assert.equal(path[1], dirname(process.execPath));
});

test("programs of this project are found by name", async (t) => {
  const { session } = await opened(t, { command: ["mcp-server-everything"] });
  const tools = await session.listTools();
  assert.ok(tools.some(({ name }) => name === "echo"));
  assert.equal(textOf(await session.callTool("echo", { message: "hi" }, testCall())), "Echo: hi");
});

test("a program that cannot be started, and one that ends at once, say so in their own words", async () => {
  const missing = mcpAdapter.open(testContext({ command: ["/does/not/exist"] }));
  await assert.rejects(missing, (error) => {
    assert.ok(error instanceof UpstreamError);
    assert.equal(error.code, "upstream_unreachable");
    assert.match(error.message, /ENOENT/);
    return true;
  });
  const dying = mcpAdapter.open(testContext({ command: command("--dies-at-start") }));
  await assert.rejects(dying, (error) => {
    assert.ok(error instanceof UpstreamError, String(error));
    assert.equal(error.code, "upstream_died");
    assert.match(error.message, /exit code 3.*the configuration is missing/);
    return true;
  });
});

test("a server that ends on anything before initialize is started again and served as a legacy one", async (t) => {
  const { session, context } = await opened(t, { command: command("--dies-on-probe") });
  assert.equal(session.introduction().protocol, "2025-11-25");
  assert.equal((await context.memory.read())?.["era"], "legacy");
});

test("a child that dies in mid-call ends the call, is restarted, and with a growing pause when it keeps dying", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const { session } = await opened(t, { command: command() }, { clock: () => now });
  const die = () => session.callTool("die", {}, testCall());
  const echo = async () => textOf(await session.callTool("echo", { text: "alive" }, testCall()));
  const failure = async (work: Promise<unknown>): Promise<UpstreamError> => {
    const error = await work.then(
      () => assert.fail("it did not fail"),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof UpstreamError, String(error));
    assert.equal(error.code, "upstream_died");
    return error;
  };
  const first = await failure(die());
  assert.match(first.message, /exit code 7.*out of memory/);
  assert.equal(first.processed, "unknown");
  assert.equal(await echo(), "alive", "the first death starts no pause");
  await failure(die());
  const waiting = await failure(echo());
  assert.match(waiting.message, /started again in 1 s/);
  assert.equal(waiting.processed, "no");
  now += 1_000;
  assert.equal(await echo(), "alive");
  await failure(die());
  assert.match((await failure(echo())).message, /started again in 2 s/);
  now += 2_000;
  assert.equal(await echo(), "alive");
  now += 61_000;
  await failure(die());
  assert.equal(await echo(), "alive", "a child that lived for a minute was healthy");
});

test("stderr is in the log, capped, and garbage on stdout does not end the conversation", async (t) => {
  const { session, context } = await opened(t, { command: command("--noise") });
  assert.equal(textOf(await session.callTool("echo", { text: "still here" }, testCall())), "still here");
  await context.log.said("too much on stderr");
  await context.log.said("not MCP on stdout");
  const lines = context.log.entries.filter(({ message }) => message === "stderr");
  assert.ok(lines.length > 0 && lines.length <= 200, String(lines.length));
  for (const { details } of lines) assert.ok(String(Object(details)["stderr"]).length <= 2_000);
});

test("calls that can be asked back take turns, and each is asked its own question", async (t) => {
  const { session } = await opened(t, { command: command(), asks: "elicitation" });
  let asking = 0;
  const notes = ["a", "b", "c", "d"];
  const answers = await Promise.all(
    notes.map(async (note) => {
      const call = testCall({
        caller: { key: note, capabilities: { elicitation: { form: {} } } },
        ask: async ({ params }: Question) => {
          assert.equal(++asking, 1, "two questions at once");
          await new Promise((resolve) => setImmediate(resolve));
          asking -= 1;
          assert.ok(String(params?.["message"]).includes(`${note}?`));
          return { action: "accept", content: { name: note.toUpperCase() } };
        },
      });
      return textOf(await session.callTool("ask_name", { note }, call));
    }),
  );
  for (const [index, answer] of answers.entries()) assert.match(answer, new RegExp(`"${notes[index]?.toUpperCase()}"`));
});

test("a question to a call that cannot be asked is answered, not left open", async (t) => {
  const { session } = await opened(t, { command: command(), asks: "all" });
  assert.match(textOf(await session.callTool("ask_name", { note: "x" }, testCall())), /"action":"cancel"/);
  assert.match(textOf(await session.callTool("ask_roots", {}, testCall())), /"roots":\[\]/);
  await assert.rejects(session.callTool("ask_model", {}, testCall()), /cannot be asked/);
});

test("a caller that may be asked more than the child was told starts it anew, once", async (t) => {
  const { session } = await opened(t, { command: command() });
  const call = testCall({
    caller: { key: "ann", capabilities: { elicitation: { form: {} }, roots: {} } },
    ask: async () => ({ action: "accept", content: { name: "Ann" } }),
  });
  assert.match(textOf(await session.callTool("ask_name", { note: "n" }, call)), /"Ann"/);
  const seen = JSON.parse(textOf(await session.callTool("whoami", {}, testCall())));
  assert.deepEqual(seen.capabilities, { elicitation: { form: {} }, roots: {} });
});

test("a waiting turn ends with its caller, and the next one gets it", async (t) => {
  const { session } = await opened(t, { command: command(), asks: "elicitation" });
  const caller = { key: "ann", capabilities: { elicitation: { form: {} } } };
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  const { promise: answer, resolve: giveAnswer } = Promise.withResolvers<JsonObject>();
  const slow = testCall({
    caller,
    ask: () => {
      isAsked();
      return answer;
    },
  });
  const first = session.callTool("ask_name", { note: "first" }, slow);
  await asked;
  const abort = new AbortController();
  const ask = async () => ({ action: "accept", content: { name: "B" } });
  const second = session.callTool("ask_name", { note: "second" }, testCall({ caller, ask, signal: abort.signal }));
  const third = session.callTool("echo", { text: "third" }, testCall({ caller, ask }));
  const reason = new Error("no longer wanted");
  abort.abort(reason);
  await assert.rejects(second, (error) => error === reason);
  giveAnswer({ action: "accept", content: { name: "A" } });
  assert.match(textOf(await first), /"A"/);
  assert.equal(textOf(await third), "third");
});

test("a modern server over stdio hands its questions over and tells of changes by listening", async (t) => {
  const { session } = await opened(t, { command: command("--era", "modern") });
  assert.equal(session.introduction().protocol, "2026-07-28");
  const caller = { key: "ann", capabilities: { elicitation: { form: {} } } };
  const asked = await session.callTool("ask_name", { note: "n" }, testCall({ caller }));
  assert.ok(asked.kind === "input_required");
  const resume = {
    inputResponses: { answer: { action: "accept", content: { name: "Ann" } } },
    requestState: "state of n",
  };
  assert.match(textOf(await session.callTool("ask_name", { note: "n" }, testCall({ caller, resume }))), /"Ann"/);
  assert.deepEqual(await session.check(), { state: "healthy" });
});
