/**
 * The messages between the pool and a worker: all that the two share. A worker may have been taken over by the code it
 * runs, so the pool believes no message before `readFromWorker` has looked at it.
 */

/** What a worker must know before its first call. */
export interface Start {
  readonly type: "start";
  /** File of the runtime that code inside sees. */
  readonly runtime: string;
  /** File of its V8 snapshot; absent: there is none, and every isolate runs the runtime. */
  readonly snapshot?: string;
  readonly limits: WorkerLimits;
}

/** The limits that a worker holds itself; see `SandboxLimits`. */
export interface WorkerLimits {
  readonly isolates: number;
  readonly idleIsolateMs: number;
  readonly syncMs: number;
  readonly loadMs: number;
  readonly resultBytes: number;
  readonly descriptionBytes: number;
  readonly fileBytes: number;
  readonly requestBodyBytes: number;
  readonly requestsPerCall: number;
  readonly logBytes: number;
  readonly timers: number;
}

/** Where an isolate's code is. */
export interface Code {
  /** `<package>@<version>`. */
  readonly piece: string;
  /** Absolute path of the folder with `bundle.js`. */
  readonly directory: string;
  /** File of its V8 code cache, where there is one. */
  readonly codeCache?: string;
  readonly memoryMb: number;
}

export type CallKind = "run" | "options" | "validate" | "describe";

export interface Call {
  readonly type: "call";
  readonly id: number;
  readonly kind: CallKind;
  /** Calls with the same key may use one isolate, one after another. */
  readonly isolate: string;
  readonly code: Code;
  /** JSON; what it holds depends on the kind (`runtime/piece/`). */
  readonly input: string;
  readonly files: readonly { readonly name: string; readonly extension: string; readonly data: Uint8Array }[];
  /** Texts to take out of everything that leaves. */
  readonly secrets: readonly string[];
  /** Milliseconds for the call once the bundle is loaded, which has a limit of its own. */
  readonly wallMs: number;
}

/** The answer to a request, or why there is none. */
export type HttpAnswer =
  | {
      readonly status: number;
      readonly statusText: string;
      readonly headers: readonly (readonly [string, string])[];
      readonly body: Uint8Array;
    }
  | { readonly error: { readonly code: string; readonly message: string } };

export type ToWorker =
  | Start
  | Call
  | { readonly type: "cancel"; readonly id: number }
  | { readonly type: "answer"; readonly call: number; readonly request: number; readonly answer: HttpAnswer }
  /** Make a snapshot of the runtime. */
  | { readonly type: "snapshot" }
  /** Compile a bundle without running it. */
  | { readonly type: "compile"; readonly code: Code };

export type FailureCode =
  | "worker_oom"
  | "worker_timeout"
  | "cancelled"
  | "piece_unloadable"
  | "no_such_action"
  | "unsupported_in_tool"
  | "result_too_large"
  | "piece_error";

export interface Failure {
  readonly code: FailureCode;
  /** What a piece threw, or what is wrong; at most 600 characters. */
  readonly message: string;
  /** Of what a piece threw. */
  readonly name?: string;
  readonly pieceCode?: string;
  readonly httpStatus?: number;
}

export type CallOutcome =
  | {
      readonly ok: true;
      /** JSON in UTF-8. */
      readonly json: Uint8Array;
      readonly files: readonly { readonly name: string; readonly data: Uint8Array }[];
    }
  | { readonly ok: false; readonly failure: Failure };

export interface HttpRequest {
  readonly type: "request";
  readonly call: number;
  readonly request: number;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export type FromWorker =
  /** It can take calls. */
  | { readonly type: "ready" }
  | HttpRequest
  | { readonly type: "log"; readonly call: number; readonly level: LogLevel; readonly text: string }
  | {
      readonly type: "done";
      readonly call: number;
      readonly outcome: CallOutcome;
      /** The process is not to be used again. */
      readonly retire: boolean;
    }
  /** The bundle was loaded for this call, which runs now: its time starts. Not sent by a warm isolate. */
  | { readonly type: "begun"; readonly call: number }
  /** Keys of the isolates that are open now. */
  | { readonly type: "isolates"; readonly keys: readonly string[] }
  /** The snapshot or code cache that was asked for; empty where there can be none, with the reason. */
  | { readonly type: "built"; readonly data: Uint8Array; readonly reason: string };

const FAILURES: ReadonlySet<string> = new Set<FailureCode>([
  "worker_oom",
  "worker_timeout",
  "cancelled",
  "piece_unloadable",
  "no_such_action",
  "unsupported_in_tool",
  "result_too_large",
  "piece_error",
]);
const LEVELS: ReadonlySet<string> = new Set<LogLevel>(["debug", "info", "warn", "error"]);

/** Longest message of a failure. */
export const MESSAGE_LENGTH = 600;
/** Longest line of a log. */
export const LOG_LINE_LENGTH = 4096;
export const URL_LENGTH = 16_384;
/** Bytes of all headers of a request. */
export const HEADER_BYTES = 65_536;
export const HEADER_COUNT = 200;

/** Reads what a worker sent; undefined where it is no message of this protocol. Only known fields are taken over. */
export function readFromWorker(given: unknown): FromWorker | undefined {
  if (!isRecord(given)) return undefined;
  switch (given["type"]) {
    case "ready":
      return { type: "ready" };
    case "built": {
      const { data, reason } = given;
      return data instanceof Uint8Array && isText(reason, MESSAGE_LENGTH) ? { type: "built", data, reason } : undefined;
    }
    case "log":
      return readLog(given);
    case "request":
      return readRequest(given);
    case "done":
      return readDone(given);
    case "isolates":
      return readIsolates(given);
    case "begun":
      return isId(given["call"]) ? { type: "begun", call: given["call"] } : undefined;
    default:
      return undefined;
  }
}

function readLog(given: Record<string, unknown>): FromWorker | undefined {
  const { call, level, text } = given;
  if (!isId(call) || !isLevel(level) || !isText(text, LOG_LINE_LENGTH)) return undefined;
  return { type: "log", call, level, text };
}

function readRequest(given: Record<string, unknown>): FromWorker | undefined {
  const { call, request, method, url, headers, body } = given;
  if (!isId(call) || !isId(request) || !isText(method, 32) || !isText(url, URL_LENGTH)) return undefined;
  if (!Array.isArray(headers) || headers.length > HEADER_COUNT || !(body instanceof Uint8Array)) return undefined;
  const pairs: [string, string][] = [];
  for (const pair of headers as unknown[]) {
    if (!Array.isArray(pair)) return undefined;
    const [name, value] = pair as unknown[];
    if (!isText(name, HEADER_BYTES) || !isText(value, HEADER_BYTES)) return undefined;
    pairs.push([name, value]);
  }
  return { type: "request", call, request, method, url, headers: pairs, body };
}

function readDone(given: Record<string, unknown>): FromWorker | undefined {
  const { call, retire } = given;
  const outcome = readOutcome(given["outcome"]);
  if (!isId(call) || outcome === undefined || typeof retire !== "boolean") return undefined;
  return { type: "done", call, outcome, retire };
}

function readIsolates(given: Record<string, unknown>): FromWorker | undefined {
  const { keys } = given;
  if (!Array.isArray(keys) || keys.length > 1024) return undefined;
  const texts = keys.filter((key) => isText(key, 1024));
  return texts.length === keys.length ? { type: "isolates", keys: texts } : undefined;
}

function readOutcome(given: unknown): CallOutcome | undefined {
  if (!isRecord(given)) return undefined;
  const { ok, json, files, failure } = given;
  if (ok === true) {
    if (!(json instanceof Uint8Array) || !Array.isArray(files)) return undefined;
    const read: { name: string; data: Uint8Array }[] = [];
    for (const file of files as unknown[]) {
      if (!isRecord(file)) return undefined;
      const { name, data } = file;
      if (!isText(name, 1024) || !(data instanceof Uint8Array)) return undefined;
      read.push({ name, data });
    }
    return { ok, json, files: read };
  }
  if (ok !== false || !isRecord(failure)) return undefined;
  const { code, message, name, pieceCode, httpStatus } = failure;
  if (!isFailureCode(code) || !isText(message, MESSAGE_LENGTH)) return undefined;
  return {
    ok,
    failure: {
      code,
      message,
      ...(isText(name, 200) && { name }),
      ...(isText(pieceCode, 200) && { pieceCode }),
      ...(Number.isInteger(httpStatus) && { httpStatus: Number(httpStatus) }),
    },
  };
}

function isRecord(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null;
}

function isId(given: unknown): given is number {
  return Number.isSafeInteger(given);
}

function isText(given: unknown, longest: number): given is string {
  return typeof given === "string" && given.length <= longest;
}

function isLevel(given: unknown): given is LogLevel {
  return typeof given === "string" && LEVELS.has(given);
}

function isFailureCode(given: unknown): given is FailureCode {
  return typeof given === "string" && FAILURES.has(given);
}
