/** The pool's side of one worker process: its channel, its calls, its watchdog, its end. */
import type { ChildProcess } from "node:child_process";
import { type FileOut, type Json, SandboxError, type SandboxErrorCode, type SandboxLog } from "./contract.ts";
import { type Call, type CallOutcome, type FromWorker, readFromWorker, type Start, type ToWorker } from "./protocol.ts";
import type { CallRequests } from "./requests.ts";
import { residentMb } from "./watchdog.ts";

/** How often the watchdog looks at a process with calls in flight. */
const WATCH_MS = 100;
/** Last words of a process that are kept. */
const LAST_WORDS = 4000;

type Built = Extract<FromWorker, { type: "built" }>;

export interface Finished {
  readonly result: Json;
  readonly files: readonly FileOut[];
}

export interface Job {
  readonly call: Call;
  readonly requests: CallRequests;
  readonly log: SandboxLog;
  resolve(finished: Finished): void;
  reject(error: SandboxError): void;
}

interface InFlight extends Job {
  /** By `performance.now()`; past it the process is killed. */
  killAt: number;
}

export interface ProcessEvents {
  /** A call has left the process; `retired`: it takes no other. */
  idle(process: WorkerProcess): void;
  /** `watched`: the watchdog ended it. */
  ended(process: WorkerProcess, watched: boolean): void;
}

export interface ProcessLimits {
  readonly graceMs: number;
  readonly loadMs: number;
  readonly memoryMb: number;
}

/** Why a process was ended, where it was us. */
type Reason = { readonly code: SandboxErrorCode; readonly message: string };

export class WorkerProcess {
  /** The one organization it ever serves. */
  organization: string | undefined;
  /** Takes no further call. */
  retired = false;
  served = 0;
  lastUsed = performance.now();
  /** Keys of its open isolates, as it tells. */
  isolates: readonly string[] = [];
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #limits: ProcessLimits;
  readonly #events: ProcessEvents;
  readonly #log: SandboxLog;
  readonly #calls = new Map<number, InFlight>();
  readonly #exit = Promise.withResolvers<void>();
  #begun = Promise.withResolvers<void>();
  #building: PromiseWithResolvers<Built> | undefined;
  #watch: NodeJS.Timeout | undefined;
  #reason: Reason | undefined;
  #lastWords = "";
  #ended = false;

  constructor(child: ChildProcess, start: Start, limits: ProcessLimits, events: ProcessEvents, log: SandboxLog) {
    this.#child = child;
    this.#limits = limits;
    this.#events = events;
    this.#log = log;
    this.ready = this.#begun.promise;
    // Who waits for it hears of it; otherwise the end of the process is told by `ended`.
    this.ready.catch(() => undefined);
    child.on("message", (message) => this.#hear(message));
    child.on("error", (error) => this.#end(`cannot start: ${error.message}`));
    child.on("exit", () => {
      this.retired = true;
    });
    // Judged later than at `exit`: its last words have been read when it is closed.
    child.on("close", (code, signal) => this.#end(`ended with ${signal ?? code}`));
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString("utf8")).slice(-LAST_WORDS);
    });
    this.#send(start);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The connection whose calls are in flight. */
  connection: string | undefined;

  /** Sends a call; its end comes to `job`. */
  run(job: Job, connection: string): void {
    if (this.#ended) {
      job.reject(new SandboxError("worker_died", "The piece's process ended.", { processed: "no" }));
      return;
    }
    this.connection = connection;
    this.served += 1;
    this.lastUsed = performance.now();
    // An isolate that is open needs no time to load the piece.
    const loadMs = this.isolates.includes(job.call.isolate) ? 0 : this.#limits.loadMs;
    this.#calls.set(job.call.id, { ...job, killAt: this.#killAt(loadMs + job.call.wallMs) });
    this.#watch ??= setInterval(() => this.#look(), WATCH_MS);
    this.#send(job.call);
  }

  cancel(id: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.requests.stop();
    this.#send({ type: "cancel", id });
    // It has the grace period to end the call by itself.
    call.killAt = Math.min(call.killAt, this.#killAt(0));
  }

  #killAt(milliseconds: number): number {
    return performance.now() + milliseconds + this.#limits.graceMs;
  }

  /** Asks for a snapshot or a code cache. */
  async build(message: Extract<ToWorker, { type: "snapshot" | "compile" }>): Promise<Built> {
    await this.ready;
    this.#building = Promise.withResolvers();
    this.#send(message);
    return this.#building.promise;
  }

  /** Ends the process at once; calls in flight fail with the reason. Resolves when it is gone. */
  kill(code: SandboxErrorCode, message: string): Promise<void> {
    this.retired = true;
    this.#reason ??= { code, message };
    this.#child.kill("SIGKILL");
    return this.#exit.promise;
  }

  #send(message: ToWorker): void {
    if (this.#ended || !this.#child.connected) return;
    this.#child.send(message, (error) => {
      // The channel is gone; `exit` follows.
      if (error !== null) this.#log.debug({ pid: this.pid }, "a message did not reach a worker");
    });
  }

  #hear(given: unknown): void {
    const message = readFromWorker(given);
    if (message === undefined) {
      this.#log.warn({ pid: this.pid }, "a worker sent what it may not; it is ended");
      void this.kill("worker_died", "The piece's process broke its protocol and was ended.");
      return;
    }
    this.#take(message);
  }

  #take(message: FromWorker): void {
    switch (message.type) {
      case "ready":
        this.#begun.resolve();
        return;
      case "built":
        this.#building?.resolve(message);
        return;
      case "begun": {
        const call = this.#calls.get(message.call);
        if (call !== undefined) call.killAt = Math.min(call.killAt, this.#killAt(call.call.wallMs));
        return;
      }
      case "isolates":
        this.isolates = message.keys;
        return;
      case "log":
        this.#calls
          .get(message.call)
          ?.log[message.level]({ piece: this.#calls.get(message.call)?.call.code.piece }, message.text);
        return;
      case "request": {
        const { call, request } = message;
        void this.#calls
          .get(call)
          ?.requests.answer(message)
          .then((answer) => this.#send({ type: "answer", call, request, answer }));
        return;
      }
      case "done":
        if (message.retire) this.retired = true;
        this.#done(message.call, message.outcome);
    }
  }

  #done(id: number, outcome: CallOutcome): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#forget(id);
    call.requests.stop();
    if (outcome.ok) settle(call, outcome);
    else call.reject(failureOf(call, outcome.failure));
    this.#events.idle(this);
  }

  #forget(id: number): void {
    this.#calls.delete(id);
    this.lastUsed = performance.now();
    if (this.#calls.size > 0) return;
    this.connection = undefined;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  #look(): void {
    const now = performance.now();
    if ([...this.#calls.values()].some(({ killAt }) => now > killAt)) {
      this.#log.warn({ pid: this.pid }, "a worker did not end its call in time and is killed");
      void this.kill("worker_timeout", "The piece did not end in time.");
      return;
    }
    const resident = residentMb(this.pid);
    if (resident === undefined || resident <= this.#limits.memoryMb) return;
    this.#log.warn({ pid: this.pid, megabytes: Math.round(resident) }, "a worker uses too much memory and is killed");
    void this.kill("worker_oom", "The piece used more memory than it may.");
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.retired = true;
    clearInterval(this.#watch);
    const killed = this.#reason !== undefined;
    const { code, message } = this.#reason ?? reasonOf(this.#lastWords);
    if (!killed)
      this.#log.warn({ pid: this.pid, how, words: this.#lastWords.slice(0, 500) }, "a worker ended by itself");
    const gone = (call: InFlight | undefined): SandboxError =>
      new SandboxError(code, message, { processed: call === undefined || call.requests.sent === 0 ? "no" : "unknown" });
    this.#begun.reject(gone(undefined));
    this.#building?.reject(gone(undefined));
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.connection = undefined;
    for (const call of calls) {
      call.requests.stop();
      call.reject(withRefusal(call, gone(call)));
    }
    this.#exit.resolve();
    const watched = this.#reason?.code === "worker_timeout" || this.#reason?.code === "worker_oom";
    this.#events.ended(this, watched);
  }
}

/** What the last words of a process that we did not end say about its end. */
function reasonOf(words: string): Reason {
  // V8's own words, and isolated-vm's for an isolate that V8 has lost.
  if (/out.of.memory|heap limit|heap space|OOM|allocation failed/i.test(words)) {
    return { code: "worker_oom", message: "The piece used more memory than it may." };
  }
  if (/failed to terminate|already disposed/i.test(words)) {
    return { code: "worker_timeout", message: "The piece did not end in time." };
  }
  return { code: "worker_died", message: "The piece's process ended under the call." };
}

function settle(job: Job, { json, files }: Extract<CallOutcome, { ok: true }>): void {
  let result: Json;
  try {
    result = JSON.parse(Buffer.from(json).toString("utf8"));
  } catch {
    // The worker checks it; one that was taken over need not.
    job.reject(new SandboxError("worker_died", "The piece's process broke its protocol.", { processed: "unknown" }));
    return;
  }
  job.resolve({ result, files });
}

function failureOf(job: Job, failure: Extract<CallOutcome, { ok: false }>["failure"]): SandboxError {
  const { code, message, name, pieceCode, httpStatus } = failure;
  const piece =
    code === "piece_error"
      ? {
          name: name ?? "Error",
          message,
          ...(pieceCode !== undefined && { code: pieceCode }),
          ...(httpStatus !== undefined && { httpStatus }),
        }
      : undefined;
  const processed = job.requests.sent === 0 ? "no" : "unknown";
  return withRefusal(job, new SandboxError(code, message, { processed, ...(piece !== undefined && { piece }) }));
}

/** Our own refusal goes before whatever the piece made of it. */
function withRefusal(job: Job, error: SandboxError): SandboxError {
  const refusal = job.requests.refusals[0];
  if (refusal === undefined || !(error.code === "piece_error" || error.code === "unsupported_in_tool")) return error;
  const { processed, piece } = error;
  const message = `The piece asked for ${refusal.origin}, which may not be reached from here.`;
  return new SandboxError("blocked_address", message, { processed, refusal, ...(piece !== undefined && { piece }) });
}
