/**
 * A worker process: runs code of strangers in isolates and holds nothing of value. It has no environment, may read the
 * bundles and its own code and no other file, starts no process and no thread, and talks to the pool over one channel.
 * Built to one file (`build.ts`), which the pool starts with the path of isolated-vm's native part.
 */
import { readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { bufferOf, compileBundle, type Ground, IsolateFailure, type Ivm, PieceIsolate } from "./isolate.ts";
import type { Call, CallOutcome, FromWorker, HttpRequest, LogLevel, Start, ToWorker } from "./protocol.ts";

interface Idle {
  readonly key: string;
  readonly isolate: PieceIsolate;
  readonly timer: NodeJS.Timeout;
}

const NATIVE = process.argv[2] ?? "";
/** Longest entry first out; the pool never sends more calls than there may be isolates. */
const idle: Idle[] = [];
const running = new Map<
  number,
  { readonly key: string; readonly isolate: PieceIsolate | undefined; cancelled: boolean }
>();
let ground: Ground | undefined;

/** Says why on the one channel that works without the event loop, and ends at once: a wedged process cannot exit. */
function die(reason: string): never {
  writeSync(2, `${reason.slice(0, 500)}\n`);
  process.kill(process.pid, "SIGKILL");
  throw new Error(reason);
}

function send(message: FromWorker): void {
  process.send?.(message);
}

function loadNative(): Ivm {
  const native: { ivm: Ivm } = createRequire(import.meta.url)(NATIVE);
  // From here on no code of this process can load another native part.
  const refuse = (): never => {
    throw new Error("native parts cannot be loaded");
  };
  Object.defineProperty(process, "dlopen", { value: refuse, writable: false, configurable: false });
  return native.ivm;
}

function begin(start: Start): void {
  const ivm = loadNative();
  const snapshot = start.snapshot === undefined ? undefined : readFileSync(start.snapshot);
  ground = {
    ivm,
    runtime: readFileSync(start.runtime, "utf8"),
    snapshot: snapshot && new ivm.ExternalCopy(bufferOf(snapshot)),
    limits: start.limits,
    catastrophe: die,
  };
  send({ type: "ready" });
}

let told = "";

function tellIsolates(): void {
  const busy = [...running.values()].filter(({ isolate }) => isolate !== undefined).map(({ key }) => key);
  const keys = [...idle.map(({ key }) => key), ...busy].sort();
  // A warm call changes nothing: one message less on its way.
  if (told === keys.join("\n")) return;
  told = keys.join("\n");
  send({ type: "isolates", keys });
}

function takeIdle(key: string): PieceIsolate | undefined {
  const index = idle.findLastIndex((entry) => entry.key === key);
  const [entry] = index === -1 ? [] : idle.splice(index, 1);
  clearTimeout(entry?.timer);
  return entry?.isolate;
}

function drop(entry: Idle | undefined): void {
  if (entry === undefined) return;
  clearTimeout(entry.timer);
  const index = idle.indexOf(entry);
  if (index !== -1) idle.splice(index, 1);
  entry.isolate.dispose();
}

function keep(key: string, isolate: PieceIsolate, on: Ground): void {
  const timer = setTimeout(() => {
    drop(entry);
    tellIsolates();
  }, on.limits.idleIsolateMs);
  const entry: Idle = { key, isolate, timer };
  idle.push(entry);
}

const sink = {
  request: (request: HttpRequest): void => send(request),
  log: (call: number, level: LogLevel, text: string): void => send({ type: "log", call, level, text }),
};

/** Runs a call in an isolate of its key: one that waits, or a new one in place of the one that waited longest. */
async function serve(call: Call, on: Ground): Promise<void> {
  let outcome: CallOutcome;
  let isolate = takeIdle(call.isolate);
  try {
    running.set(call.id, { key: call.isolate, isolate, cancelled: false });
    while (idle.length > 0 && idle.length + running.size > on.limits.isolates) drop(idle[0]);
    const cold = isolate === undefined;
    isolate ??= await PieceIsolate.open(on, call.code);
    const cancelled = running.get(call.id)?.cancelled === true;
    running.set(call.id, { key: call.isolate, isolate, cancelled });
    if (cold) send({ type: "begun", call: call.id });
    outcome = cancelled ? CANCELLED : await isolate.run(call, sink);
  } catch (error) {
    outcome = { ok: false, failure: failureOf(error) };
  }
  running.delete(call.id);
  // Fresh after any error: what went wrong may have left anything behind.
  if (outcome.ok && isolate !== undefined && !isolate.isDisposed) keep(call.isolate, isolate, on);
  else isolate?.dispose();
  tellIsolates();
  send({ type: "done", call: call.id, outcome, retire: isRetiring(outcome) });
}

const CANCELLED: CallOutcome = { ok: false, failure: { code: "cancelled", message: "The call was cancelled." } };

function failureOf(error: unknown) {
  if (error instanceof IsolateFailure) return error.failure;
  // isolated-vm's compiler, or a bundle that is not there.
  const message = error instanceof Error ? error.message : String(error);
  return { code: "piece_unloadable", message: `The piece does not load: ${message}`.slice(0, 600) } as const;
}

/** After these an isolate may still hold memory or a thread. */
function isRetiring(outcome: CallOutcome): boolean {
  if (outcome.ok) return false;
  const { code } = outcome.failure;
  return code === "worker_oom" || code === "worker_timeout" || code === "cancelled";
}

function cancel(id: number): void {
  const call = running.get(id);
  if (call === undefined) return;
  call.cancelled = true;
  call.isolate?.cancel();
}

function build(make: () => ArrayBuffer | undefined): void {
  try {
    send({ type: "built", data: new Uint8Array(make() ?? new ArrayBuffer(0)), reason: "" });
  } catch (error) {
    // It is only a matter of speed: whoever loads without it says what is wrong.
    const reason = error instanceof Error ? error.message.slice(0, 500) : String(error).slice(0, 500);
    send({ type: "built", data: new Uint8Array(), reason });
  }
}

function handle(message: ToWorker): void {
  if (message.type === "start") {
    begin(message);
    return;
  }
  const on = ground ?? die("a message came before the start");
  switch (message.type) {
    case "call":
      void serve(message, on);
      return;
    case "cancel":
      cancel(message.id);
      return;
    case "answer":
      running.get(message.call)?.isolate?.answer(message.request, message.answer);
      return;
    case "snapshot":
      build(() => on.ivm.Isolate.createSnapshot([{ code: on.runtime, filename: "runtime.js" }]).copy());
      return;
    case "compile":
      build(() => compileBundle(on, message.code));
      return;
  }
}

process.on("message", handle);
// The pool is gone: nobody is left to end this process.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// Ctrl-C reaches the whole group of processes; the pool decides when a worker ends.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
process.on("uncaughtException", (error) => die(`uncaught: ${error.message}`));
process.on("unhandledRejection", (error) =>
  die(`unhandled: ${error instanceof Error ? error.message : String(error)}`),
);
