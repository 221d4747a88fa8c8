/**
 * Reads documents in a worker thread, one after the other, within limits. A document that breaks one of them costs the
 * worker and never the process.
 */
import { Worker } from "node:worker_threads";
import { type ToolDefinition, UpstreamError } from "../contract.ts";
import type { ReadAnswer, ReadRequest, ReadSummary, ToWorker } from "./messages.ts";

/** Bytes of a document. */
export const MAX_DOCUMENT = 64 * 1024 * 1024;
const MAX_MS = 60_000;
/** MiB of the worker's heap. */
const MAX_HEAP = 768;
/** Milliseconds after which a worker that nobody needs is ended, and its heap with it. */
const IDLE_MS = 15_000;

export interface ReadDocument extends ReadSummary {
  tools: ToolDefinition[];
}

/** What to read, and how. */
export type Reading = Omit<ReadRequest, "id" | "kind">;

export interface ReadLimits {
  /** Milliseconds. */
  maxMs?: number;
  /** MiB. */
  maxHeap?: number;
}

let worker: Worker | undefined;
let idle: NodeJS.Timeout | undefined;
let last: Promise<unknown> = Promise.resolve();
let lastId = 0;

/**
 * Reads one document.
 * @param bytes handed over to the worker: not to be used afterwards
 * @throws UpstreamError `upstream_protocol` with words for the administrator
 */
export function readDocument(request: Reading, limits: ReadLimits = {}): Promise<ReadDocument> {
  if (request.bytes.byteLength > MAX_DOCUMENT) {
    const mib = MAX_DOCUMENT / 1024 / 1024;
    return Promise.reject(failed(`The document is larger than ${mib} MiB.`));
  }
  const mine = last.then(() => readNext(request, limits));
  last = mine.catch(() => undefined);
  return mine;
}

async function readNext(request: Reading, limits: ReadLimits): Promise<ReadDocument> {
  clearTimeout(idle);
  // Limits of its own need a worker of its own.
  if (limits.maxHeap !== undefined) await endWorker();
  worker ??= startWorker(limits.maxHeap ?? MAX_HEAP);
  const thread = worker;
  thread.ref();
  const { maxMs = MAX_MS } = limits;
  lastId += 1;
  const id = lastId;
  const tools: ToolDefinition[] = [];
  try {
    return await new Promise<ReadDocument>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(failed(`The document was not read within ${maxMs} ms.`));
        drop(thread);
      }, maxMs);
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        thread.off("message", heard);
        thread.off("error", broke);
        thread.off("exit", ended);
        finish();
      };
      const heard = (answer: ReadAnswer) => {
        if (answer.id !== id) return;
        if (answer.kind === "tools") {
          tools.push(...answer.tools);
          setImmediate(() => thread.postMessage({ kind: "taken" } satisfies ToWorker));
        }
        if (answer.kind === "failed") settle(() => reject(failed(answer.message)));
        if (answer.kind === "done") settle(() => resolve({ ...answer.summary, tools }));
      };
      const broke = (error: Error) => {
        drop(thread);
        settle(() => reject(failed(wordsOf(error), error)));
      };
      const ended = () => {
        drop(thread);
        settle(() => reject(failed("The document could not be read: its reader ended.")));
      };
      thread.on("message", heard);
      thread.on("error", broke);
      thread.on("exit", ended);
      const { bytes } = request;
      const whole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
      const own = whole && bytes.buffer instanceof ArrayBuffer ? bytes : new Uint8Array(bytes);
      thread.postMessage({ ...request, kind: "read", bytes: own, id } satisfies ToWorker, [own.buffer as ArrayBuffer]);
    });
  } finally {
    thread.unref();
    if (limits.maxHeap !== undefined) await endWorker();
    idle = setTimeout(() => void endWorker(), IDLE_MS);
    idle.unref();
  }
}

function startWorker(maxHeap: number): Worker {
  return new Worker(new URL("./worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxHeap, maxYoungGenerationSizeMb: 64, stackSizeMb: 8 },
    // What the process was started with is not the worker's to know, but for where compiled code is kept.
    env:
      process.env["NODE_COMPILE_CACHE"] === undefined ? {} : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
    execArgv: [],
    stdin: false,
  });
}

/** A worker that broke, or does not end by itself. */
function drop(thread: Worker): void {
  if (worker === thread) worker = undefined;
  void thread.terminate();
}

async function endWorker(): Promise<void> {
  const thread = worker;
  worker = undefined;
  await thread?.terminate();
}

function failed(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError("upstream_protocol", message, {
    processed: "no",
    ...(cause === undefined ? {} : { cause }),
  });
}

function wordsOf(error: Error): string {
  const code: unknown = Reflect.get(error, "code");
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return "The document needs more memory than a document may.";
  return `The document could not be read: ${error.message.slice(0, 300)}`;
}
