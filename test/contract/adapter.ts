/**
 * One suite for every adapter: what the rest of the product relies on, whatever protocol is spoken upstream.
 *
 * A subject brings an upstream of its own and says how the suite reaches the behaviour it checks.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import {
  type Adapter,
  type AdapterContext,
  type AdapterMemory,
  type AdapterSession,
  type CallContext,
  type Credential,
  type JsonObject,
  type Log,
  type Outcome,
  UpstreamError,
} from "../../adapters/contract.ts";
import { NO_ASSETS } from "../fixtures/assets.ts";

/** A log that keeps what it was told. */
export interface KeptLog extends Log {
  readonly entries: { level: string; details: object; message: string }[];
  /** Resolves when something with these words in its message was logged. */
  said(words: string): Promise<void>;
}

export function keptLog(): KeptLog {
  const entries: KeptLog["entries"] = [];
  const waiting: { words: string; resolve: () => void }[] = [];
  const at = (level: string) => (details: object, message: string) => {
    entries.push({ level, details, message });
    for (const { words, resolve } of waiting) if (message.includes(words)) resolve();
  };
  const said = (words: string) =>
    new Promise<void>((resolve) => {
      if (entries.some(({ message }) => message.includes(words))) resolve();
      else waiting.push({ words, resolve });
    });
  return { entries, said, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A context with everything an adapter may use; `over` replaces parts of it. */
export function testContext(
  config: JsonObject,
  over: Partial<AdapterContext> & { credential?: () => Promise<Credential | undefined> } = {},
): AdapterContext & { readonly log: KeptLog } {
  let memory: AdapterMemory | undefined;
  return {
    connection: { id: "01TESTCONNECTION0000000000", slug: "tested" },
    config,
    credential: async () => undefined,
    fetch: globalThis.fetch,
    namedFetch: globalThis.fetch,
    fileFetch: globalThis.fetch,
    fetchStream: over.fetch ?? globalThis.fetch,
    clock: Date.now,
    signal: new AbortController().signal,
    memory: {
      read: async () => memory,
      write: async (next) => {
        memory = next;
      },
    },
    identity: { name: "jackfield-test", version: "0.0.1" },
    hop: { header: "x-test-hop", value: "hop-1" },
    ...over,
    log: keptLog(),
  };
}

/** A call by `key` that nobody can be asked about. */
export function testCall(over: Partial<CallContext> = {}): CallContext {
  return {
    caller: { key: "caller-1", capabilities: {} },
    signal: new AbortController().signal,
    timeoutMs: 10_000,
    maxTimeoutMs: 20_000,
    assets: NO_ASSETS,
    ...over,
  };
}

/** The result of an outcome that must be one. */
export function resultOf(outcome: Outcome): JsonObject {
  assert.equal(outcome.kind, "result");
  return outcome.result;
}

/** The text of a result's first block. */
export function textOf(outcome: Outcome): string {
  const { content } = resultOf(outcome);
  assert.ok(Array.isArray(content));
  return String(content[0]?.text);
}

export interface Subject {
  readonly context: AdapterContext;
  /** A tool that answers with the text it was given. */
  readonly echo: { action: string; args: (text: string) => JsonObject };
  /**
   * A tool that answers nothing until it is cancelled, how the upstream tells that it was, and how it tells that the
   * call has arrived where the protocol reports no progress.
   */
  readonly wait: {
    action: string;
    args?: JsonObject;
    cancelled: () => Promise<unknown>;
    arrived?: () => Promise<unknown>;
  };
  /** A tool that fails in its own way: a result with `isError` that says so. */
  readonly fail: { action: string; args?: JsonObject; says: RegExp };
  /** A tool that reports progress, where the protocol can. */
  readonly count?: { action: string; args: JsonObject };
  stop(): Promise<void>;
}

/** Runs the suite; without the test of progress where the adapter's protocol has none. */
export function adapterContract(
  name: string,
  adapter: Adapter,
  start: () => Promise<Subject>,
  { progress }: { progress: boolean } = { progress: true },
): void {
  describe(`adapter contract: ${name}`, () => {
    let subject: Subject;
    let session: AdapterSession;
    beforeEach(async () => {
      subject = await start();
      session = await adapter.open(subject.context);
    });
    afterEach(async () => {
      await session.close();
      await subject.stop();
    });

    test("it lists tools with a name and an input schema, the same twice", async () => {
      const tools = await session.listTools();
      assert.ok(tools.some((tool) => tool.name === subject.echo.action));
      for (const tool of tools) assert.equal(typeof tool.inputSchema, "object", tool.name);
      assert.equal(new Set(tools.map((tool) => tool.name)).size, tools.length);
      assert.deepEqual(await session.listTools(), tools);
    });

    test("what prepare returns is what is sent", async () => {
      const tools = await session.listTools();
      const tool = tools.find((candidate) => candidate.name === subject.echo.action);
      assert.ok(tool);
      const given = subject.echo.args("prepared");
      const before = structuredClone(given);
      const { args } = adapter.prepare(tool, given);
      assert.deepEqual(given, before, "prepare changes nothing in place");
      assert.match(textOf(await session.callTool(subject.echo.action, args, testCall())), /prepared/);
    });

    test("concurrent calls of several callers each get their own answer", async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const call = testCall({ caller: { key: `caller-${index % 4}`, capabilities: {} } });
          return textOf(await session.callTool(subject.echo.action, subject.echo.args(`text ${index}.`), call));
        }),
      );
      for (const [index, answer] of answers.entries()) assert.match(answer, new RegExp(`text ${index}\\.`));
    });

    test("it is healthy and says who it is", async () => {
      assert.deepEqual(await session.check(), { state: "healthy" });
      assert.equal(typeof session.introduction(), "object");
    });

    test("a cancelled call rejects with the caller's reason and reaches the upstream", async () => {
      const abort = new AbortController();
      const call = testCall({ signal: abort.signal, progress: () => abort.abort(reason) });
      const reason = new Error("changed my mind");
      const cancelled = subject.wait.cancelled();
      void subject.wait.arrived?.().then(() => abort.abort(reason));
      await assert.rejects(
        session.callTool(subject.wait.action, subject.wait.args ?? {}, call),
        (error) => error === reason,
      );
      await cancelled;
      assert.match(
        textOf(await session.callTool(subject.echo.action, subject.echo.args("after"), testCall())),
        /after/,
      );
    });

    test("a call that was cancelled before it began is not sent", async () => {
      const reason = new Error("too late");
      const signal = AbortSignal.abort(reason);
      const sent = session.callTool(subject.echo.action, subject.echo.args("x"), testCall({ signal }));
      await assert.rejects(sent, (error) => error === reason);
    });

    test("silence past its time is a timeout with an unknown outcome", async () => {
      const call = testCall({ timeoutMs: 50 });
      await assert.rejects(session.callTool(subject.wait.action, subject.wait.args ?? {}, call), (error) => {
        assert.ok(error instanceof UpstreamError);
        assert.equal(error.code, "upstream_timeout");
        assert.equal(error.processed, "unknown");
        return true;
      });
    });

    test("a tool's own failure is a result", async () => {
      const outcome = await session.callTool(subject.fail.action, subject.fail.args ?? {}, testCall());
      assert.equal(resultOf(outcome)["isError"], true);
      assert.match(textOf(outcome), subject.fail.says);
    });

    if (progress)
      test("progress arrives in order, before the result", async () => {
        assert.ok(subject.count);
        const seen: number[] = [];
        const call = testCall({ progress: ({ progress }) => seen.push(progress) });
        await session.callTool(subject.count.action, subject.count.args, call);
        assert.ok(seen.length > 0);
        assert.deepEqual(
          seen,
          [...seen].sort((a, b) => a - b),
        );
      });

    test("closing twice is closing once", async () => {
      await session.close();
      await session.close();
    });
  });
}
