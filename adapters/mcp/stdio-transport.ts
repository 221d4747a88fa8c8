/** MCP over a child's stdin and stdout (MCP 2025-11-25 and 2026-07-28, "stdio"). */
import { type JSONRPCMessage, ReadBuffer, type Transport } from "@modelcontextprotocol/client";
import { type Log, UpstreamError } from "../contract.ts";
import { bounded } from "./failures.ts";
import { ordered } from "./ordered.ts";
import { type Child, endLeftovers, endProgram, type Program, startProgram } from "./process-tree.ts";
import { logStderr } from "./stderr-log.ts";

/** Bytes of one message. */
const MAX_MESSAGE = 32 * 1024 * 1024;
/** Milliseconds for what is still in the pipe after the child has gone. */
const DRAIN_MS = 200;
/** Lines of garbage on stdout that are worth a line of log each. */
const MAX_GARBAGE_LOGGED = 20;

export class ChildTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #program: Program;
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE });
  #child: Child | undefined;
  #stderr: { lastLine(): string } | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;
  #garbage = 0;

  constructor(program: Program, log: Log, clock: () => number) {
    this.#program = program;
    this.#log = log;
    this.#clock = clock;
  }

  /** The SDK tells a pipe from a network by these two: a silent server on a pipe is a legacy one. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  /** How the child ended; undefined while it runs. */
  get ended(): string | undefined {
    const child = this.#child;
    if (!child || (child.exitCode === null && child.signalCode === null)) return undefined;
    return child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
  }

  /** What the child said last on stderr, for a person who must find out why it ended. */
  get lastWords(): string {
    return bounded(this.#stderr?.lastLine() ?? "");
  }

  async start(): Promise<void> {
    let child: Child;
    try {
      child = await startProgram(this.#program);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
      throw new UpstreamError("upstream_unreachable", `The program of the connection cannot be started (${code}).`, {
        processed: "no",
        detail: error instanceof Error ? error.message : String(error),
        cause: error,
      });
    }
    this.#child = child;
    this.#stderr = logStderr(child.stderr, this.#log, this.#clock);
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stdout.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error));
    // Not `close`: a grandchild may hold the pipes open for as long as it likes.
    child.once("exit", () => {
      const drained = setTimeout(() => this.#left(), DRAIN_MS);
      child.once("close", () => {
        clearTimeout(drained);
        this.#left();
      });
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (!child || this.#closed || this.ended !== undefined || !child.stdin.writable) throw new Error("Not connected");
    await new Promise<void>((resolve, reject) => {
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Ends the child and its whole group; resolves when they are gone. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child) {
      await endProgram(child);
      child.stdout.destroy();
      child.stderr.destroy();
    }
    this.#finish();
  }

  #left(): void {
    if (this.#closed || this.#closing) return;
    const child = this.#child;
    this.#log.info({ how: this.ended }, "the program of the connection ended");
    this.#finish();
    if (child) endLeftovers(child).catch((error: unknown) => this.#log.debug({ error }, "ending leftovers failed"));
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#buffer.clear();
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    const deliver = ordered(
      (message) => this.onmessage?.(message),
      (error) => this.onerror?.(error),
    );
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      this.close().catch((late: unknown) => this.#log.debug({ late }, "closing failed"));
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        deliver(message);
      } catch (error) {
        // Not MCP: a banner, a print left in. The messages after it still count.
        if (this.#garbage++ < MAX_GARBAGE_LOGGED)
          this.#log.warn({ why: bounded(String(error)) }, "something that is not MCP on stdout");
      }
    }
  }
}
