/**
 * One isolate with one piece in it. It serves one connection under one credential, one call at a time, and is not used
 * again once anything went wrong in it.
 *
 * Code inside makes progress only when it is entered: at the start of a call, when an answer arrives, when a timer is
 * due. Every entry has a time limit, which V8 enforces over the microtasks that follow it too. A call ends when the
 * runtime says so (`ended`) or when its time is up; errors that come out of an entry are never its result, because
 * isolated-vm reports stray rejections there.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type ivm from "isolated-vm";
import { HostFunctions, type Outlet } from "./isolate-host.ts";
import { createScrub, readOutcome, type Scrub } from "./isolate-outcome.ts";
import {
  type Call,
  type CallOutcome,
  type Code,
  type Failure,
  type HttpAnswer,
  type HttpRequest,
  type LogLevel,
  MESSAGE_LENGTH,
  type WorkerLimits,
} from "./protocol.ts";
import type { Sandbox } from "./runtime/main.ts";

export type Ivm = typeof ivm;

/** What every isolate of a worker is made of. */
export interface Ground {
  readonly ivm: Ivm;
  /** Source of the runtime, for where there is no snapshot. */
  readonly runtime: string;
  readonly snapshot: ivm.ExternalCopy<ArrayBuffer> | undefined;
  readonly limits: WorkerLimits;
  /** V8 has lost control of an isolate; the process must end. */
  readonly catastrophe: (message: string) => void;
}

/** Where a call's requests and log lines go. */
export interface Sink {
  request(request: HttpRequest): void;
  log(call: number, level: LogLevel, text: string): void;
}

/** An isolate that cannot be opened, or a call that ended badly. */
export class IsolateFailure extends Error {
  override readonly name = "IsolateFailure";
  readonly failure: Failure;

  constructor(code: Failure["code"], message: string) {
    super(message);
    this.failure = { code, message: message.slice(0, MESSAGE_LENGTH) };
  }
}

interface Running extends Outlet {
  readonly scrub: Scrub;
  readonly waiting: Set<number>;
  readonly limit: number;
  readonly wall: NodeJS.Timeout;
  /** The last thing that was thrown where nobody caught it. */
  stray: string | undefined;
  finish(outcome: CallOutcome): void;
}

type Entry = ivm.Reference<(...args: ivm.Transferable[]) => unknown>;
type Entries = Readonly<Record<Exclude<keyof Sandbox, "open">, Entry>>;

const NAMES = ["load", "start", "settle", "refuse", "fire", "take", "addFile"] as const;
/** Bytes of an outcome beside its JSON and files. */
const HEAD_BYTES = 65_536;

const OOM = "The piece used more memory than it may.";
const TIMEOUT = "The piece did not end in time.";

/** The script of a bundle: a CommonJS module as a function, so that nothing of it becomes global. */
export function bundleScript(code: Code): string {
  const source = readFileSync(join(code.directory, "bundle.js"), "utf8");
  return `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
}

/** V8's code cache for a bundle, which is compiled and not run. */
export function compileBundle(ground: Ground, code: Code): ArrayBuffer | undefined {
  const isolate = new ground.ivm.Isolate(isolateOptions(ground, code.memoryMb));
  try {
    const script = isolate.compileScriptSync(bundleScript(code), { filename: "bundle.js", produceCachedData: true });
    const cached: unknown = Reflect.get(script, "cachedData");
    const data: unknown = cached instanceof ground.ivm.ExternalCopy ? cached.copy() : undefined;
    return data instanceof ArrayBuffer ? data : undefined;
  } finally {
    isolate.dispose();
  }
}

function isolateOptions(ground: Ground, memoryLimit: number): ivm.IsolateOptions {
  return {
    memoryLimit,
    onCatastrophicError: ground.catastrophe,
    ...(ground.snapshot !== undefined && { snapshot: ground.snapshot }),
  };
}

export class PieceIsolate {
  readonly #ground: Ground;
  readonly #isolate: ivm.Isolate;
  readonly #host: HostFunctions;
  readonly #wasm: boolean;
  #entries: Entries | undefined;
  #entered = 0;
  #running: Running | undefined;
  #collecting = false;

  private constructor(ground: Ground, isolate: ivm.Isolate, wasm: boolean) {
    this.#ground = ground;
    this.#isolate = isolate;
    this.#wasm = wasm;
    this.#host = new HostFunctions(
      ground.limits,
      () => this.#running,
      (timer) => void this.#enter("fire", [timer]),
    );
  }

  /** Opens an isolate and evaluates the bundle in it. @throws IsolateFailure */
  static async open(ground: Ground, code: Code): Promise<PieceIsolate> {
    const files = readWasm(code);
    let opened: PieceIsolate | undefined;
    try {
      const isolate = new ground.ivm.Isolate(isolateOptions(ground, code.memoryMb));
      opened = new PieceIsolate(ground, isolate, files.length > 0);
      await opened.#load(code, files);
      return opened;
    } catch (error) {
      const failure = opened?.reasonOf(error) ?? error;
      opened?.dispose();
      throw failure;
    }
  }

  get isDisposed(): boolean {
    return this.#isolate.isDisposed;
  }

  async #load(code: Code, files: readonly WasmFile[]): Promise<void> {
    const { ivm, snapshot, runtime, limits } = this.#ground;
    const context = await this.#isolate.createContext();
    if (snapshot === undefined) {
      const script = await this.#isolate.compileScript(runtime, { filename: "runtime.js" });
      await script.run(context, { timeout: limits.loadMs });
    }
    await this.#connect(context);
    for (const { name, data } of files) {
      const copy = new ivm.ExternalCopy(data, { transferOut: true });
      await this.#apply("addFile", [name, copy.copyInto({ transferIn: true, release: true })]);
    }
    const script = await this.#isolate.compileScript(bundleScript(code), {
      filename: "bundle.js",
      ...cachedData(ivm, code.codeCache),
    });
    const bundle: unknown = await script.run(context, { timeout: limits.loadMs, reference: true });
    if (!(bundle instanceof ivm.Reference)) throw new IsolateFailure("piece_unloadable", "The bundle is no module.");
    script.release();
    const wrong = await this.#apply("load", [bundle.derefInto({ release: true })], limits.loadMs);
    if (typeof wrong === "string") throw new IsolateFailure("piece_unloadable", `The piece does not load: ${wrong}`);
  }

  /** Hands the functions in, and takes the runtime's own out of the global object. */
  async #connect(context: ivm.Context): Promise<void> {
    const { Callback } = this.#ground.ivm;
    const host = this.#host;
    const runtime = await context.evalClosure(
      `const sandbox = globalThis.__sandbox;
      delete globalThis.__sandbox;
      sandbox.open({ http: $0, crypto: $1, timer: $2, untimer: $3, log: $4 }, $5, $6);
      return sandbox;`,
      [
        // isolated-vm takes no bound functions.
        new Callback((...given: unknown[]) => host.http(given)),
        new Callback((...given: unknown[]) => host.crypto(given)),
        new Callback((...given: unknown[]) => host.timer(given)),
        new Callback((...given: unknown[]) => host.untimer(given)),
        new Callback((...given: unknown[]) => host.log(given)),
        new Callback(() => void this.#collect(), { ignored: true }),
        this.#wasm,
      ],
      { result: { reference: true } },
    );
    const found = NAMES.map((name) => [name, runtime.getSync(name, { reference: true })] as const);
    this.#entries = Object.fromEntries(found) as Entries;
    runtime.release();
  }

  /** Runs a function of the runtime. Rejects with whatever comes out of it. */
  async #apply(name: keyof Entries, args: ivm.Transferable[], timeout = this.#ground.limits.syncMs): Promise<unknown> {
    const entry = this.#entries?.[name];
    if (entry === undefined) throw new IsolateFailure("piece_unloadable", "The runtime is incomplete.");
    return entry.apply(undefined, args, { timeout, result: { copy: true } });
  }

  /** Lets code inside go on. What is thrown is no result: it says that the isolate is lost, or it is a stray. */
  async #enter(name: keyof Entries, args: ivm.Transferable[]): Promise<void> {
    const running = this.#running;
    this.#entered += 1;
    try {
      await this.#apply(name, args);
    } catch (error) {
      const reason = this.reasonOf(error);
      if (reason instanceof IsolateFailure) this.#fail(reason);
      else if (running !== undefined) running.stray = reason.message.slice(0, MESSAGE_LENGTH);
    } finally {
      this.#entered -= 1;
      // `ended` may be on its way.
      setImmediate(() => this.#checkDead(running));
    }
  }

  /** A call that waits for nothing will never end: code inside moves only when it is entered. */
  #checkDead(running: Running | undefined): void {
    if (running === undefined || running !== this.#running || this.#entered > 0 || this.#wasm) return;
    if (running.waiting.size > 0 || this.#host.timers > 0 || this.#collecting) return;
    const { stray } = running;
    if (stray !== undefined) {
      const failure = { code: "piece_error", message: running.scrub.text(stray), name: "Error" } as const;
      this.#end(running, { ok: false, failure });
      this.dispose();
    } else this.#fail(new IsolateFailure("worker_timeout", `${TIMEOUT} It waits for something that cannot happen.`));
  }

  /** Runs a call to its end; never rejects. The isolate is disposed after everything but a good end. */
  run(call: Call, sink: Sink): Promise<CallOutcome> {
    const { ivm, limits } = this.#ground;
    const { promise, resolve } = Promise.withResolvers<CallOutcome>();
    const result = call.kind === "describe" ? limits.descriptionBytes : limits.resultBytes;
    const running: Running = {
      call: call.id,
      scrub: createScrub(call.secrets),
      waiting: new Set(),
      limit: result + limits.fileBytes + HEAD_BYTES,
      logBytes: limits.logBytes,
      requests: 0,
      stray: undefined,
      wall: setTimeout(() => this.#fail(new IsolateFailure("worker_timeout", TIMEOUT)), call.wallMs),
      send: (request) => {
        running.waiting.add(request.request);
        sink.request(request);
      },
      log: (level, text) => sink.log(call.id, level, running.scrub.text(text).slice(0, text.length)),
      finish: resolve,
    };
    this.#running = running;
    const names = JSON.stringify(call.files.map(({ name, extension }) => ({ name, extension })));
    const data = call.files.map((file) => new ivm.ExternalCopy(bufferOf(file.data), { transferOut: true }));
    const copies = data.map((copy) => copy.copyInto({ transferIn: true, release: true }));
    const bounds = new ivm.ExternalCopy({ result, files: limits.fileBytes }).copyInto({ release: true });
    void this.#enter("start", [call.kind, call.input, bounds, names, ...copies]);
    return promise;
  }

  /** Brings the answer to a request of the call in flight. */
  answer(request: number, answer: HttpAnswer): void {
    const running = this.#running;
    if (running === undefined || !running.waiting.delete(request)) return;
    if ("error" in answer) {
      void this.#enter("refuse", [request, answer.error.code, answer.error.message]);
      return;
    }
    const body = new this.#ground.ivm.ExternalCopy(bufferOf(answer.body), { transferOut: true });
    void this.#enter("settle", [
      request,
      answer.status,
      answer.statusText,
      JSON.stringify(answer.headers),
      body.copyInto({ transferIn: true, release: true }),
    ]);
  }

  cancel(): void {
    this.#fail(new IsolateFailure("cancelled", "The call was cancelled."));
  }

  /** The runtime says that the call has ended: takes its outcome out. */
  async #collect(): Promise<void> {
    const running = this.#running;
    if (running === undefined || this.#collecting) return;
    this.#collecting = true;
    try {
      const packed = await this.#apply("take", [running.limit]);
      if (packed instanceof ArrayBuffer) this.#end(running, readOutcome(packed, running.scrub));
      else this.#fail(new IsolateFailure("result_too_large", "The result is larger than it may be."));
    } catch (error) {
      const reason = this.reasonOf(error);
      const known = reason instanceof IsolateFailure;
      this.#fail(known ? reason : new IsolateFailure("piece_error", "The piece broke the end of its call."));
    } finally {
      this.#collecting = false;
    }
  }

  #end(running: Running, outcome: CallOutcome): void {
    if (running !== this.#running) return;
    clearTimeout(running.wall);
    this.#running = undefined;
    this.#host.stop();
    running.finish(outcome);
  }

  #fail(reason: IsolateFailure): void {
    const running = this.#running;
    this.dispose();
    if (running !== undefined) this.#end(running, { ok: false, failure: reason.failure });
  }

  /** What an error of isolated-vm means; another error as it is. */
  reasonOf(error: unknown): Error {
    if (error instanceof IsolateFailure) return error;
    const message = error instanceof Error ? String(error.message) : String(error);
    if (/^Script execution timed out/.test(message)) return new IsolateFailure("worker_timeout", TIMEOUT);
    if (/memory limit|Array buffer allocation failed/i.test(message) && this.isDisposed) {
      return new IsolateFailure("worker_oom", OOM);
    }
    if (this.isDisposed) return new IsolateFailure("worker_oom", OOM);
    return error instanceof Error ? error : new Error(message);
  }

  dispose(): void {
    this.#host.stop();
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}

interface WasmFile {
  readonly name: string;
  readonly data: ArrayBuffer;
}

function readWasm(code: Code): WasmFile[] {
  return readdirSync(code.directory)
    .filter((name) => name.endsWith(".wasm"))
    .map((name) => ({ name, data: bufferOf(readFileSync(join(code.directory, name))) }));
}

function cachedData(ivm: Ivm, file: string | undefined): { cachedData?: ivm.ExternalCopy<ArrayBuffer> } {
  if (file === undefined) return {};
  return { cachedData: new ivm.ExternalCopy(bufferOf(readFileSync(file))) };
}

/** Exactly the bytes of a view. */
export function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
