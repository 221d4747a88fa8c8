/**
 * The edge to the worker: five functions, handed in once and closed over here, never reachable as a global.
 *
 * The worker copies arguments before it can look at them, so every argument is a primitive or an ArrayBuffer that was
 * measured here with built-ins that a piece cannot have replaced.
 */
import { byteLengthOf, copyOf, sliceText, stringify } from "./primordials.ts";

/** What the worker hands in. Each runs in the worker, synchronously, and bounds what it is given once more. */
export interface HostFunctions {
  /** Sends a request; the answer comes to `settle` or `refuse`. Returns why it was not sent, else undefined. */
  http(id: number, method: string, url: string, headers: string, body: ArrayBuffer | undefined): string | undefined;
  crypto(operation: string, text: string, ...parts: (ArrayBuffer | undefined)[]): unknown;
  /** False: there are too many. */
  timer(id: number, milliseconds: number): boolean;
  untimer(id: number): void;
  /** False: nothing more will be taken. */
  log(level: string, text: string): boolean;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: ArrayBuffer;
}

const METHOD_LENGTH = 32;
const URL_LENGTH = 16_384;
const HEADERS_LENGTH = 131_072;
const TEXT_LENGTH = 65_536;
/** What one operation of crypto may be given. */
const CRYPTO_BYTES = 32 * 1024 * 1024;
const LOG_LINE_LENGTH = 4096;

let host: HostFunctions | undefined;
let logging = true;
let requests = 0;
const waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();

/** Takes what the worker hands in; once, before any piece runs. */
export function connect(functions: HostFunctions): void {
  if (host !== undefined) throw new Error("connected already");
  host = functions;
}

function connected(): HostFunctions {
  if (host === undefined) throw new Error("this cannot be used while the runtime is being built");
  return host;
}

/** Sends one request, without following redirects. Rejects with an Error that has a `code`. */
export function request(
  method: string,
  url: string,
  headers: readonly (readonly [string, string])[],
  body: Uint8Array | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const id = ++requests;
    const bytes = body === undefined || body.byteLength === 0 ? undefined : bytesOf(body);
    const refused = connected().http(
      id,
      text(method, METHOD_LENGTH, "method"),
      text(url, URL_LENGTH, "URL"),
      text(stringify(headers), HEADERS_LENGTH, "headers"),
      bytes,
    );
    if (refused === undefined) waiting.set(id, { resolve, reject });
    else reject(failure("ERR_SANDBOX_REQUEST", refused));
  });
}

/** The worker brings an answer. `headers` is JSON of pairs. */
export function settle(id: number, status: number, statusText: string, headers: string, body: ArrayBuffer): void {
  const waiter = waiting.get(id);
  waiting.delete(id);
  const pairs: [string, string][] = JSON.parse(headers);
  waiter?.resolve({ status, statusText, headers: pairs, body });
}

/** The worker brings the reason why there is no answer. */
export function refuse(id: number, code: string, message: string): void {
  const waiter = waiting.get(id);
  waiting.delete(id);
  waiter?.reject(failure(code, message));
}

/** Forgets the answers that a finished call did not wait for. */
export function forgetRequests(): void {
  waiting.clear();
}

/** One cryptographic operation of the worker's Node; `text` says how, `parts` are what it works on. */
export function hostCrypto(operation: string, how: string, ...parts: (Uint8Array | undefined)[]): unknown {
  const buffers = parts.map((part) => (part === undefined ? undefined : bytesOf(part)));
  for (const buffer of buffers) {
    if (buffer !== undefined && byteLengthOf(buffer) > CRYPTO_BYTES) throw new RangeError("too much data for crypto");
  }
  return connected().crypto(text(operation, 32, "operation"), text(how, TEXT_LENGTH, "parameters"), ...buffers);
}

export function startTimer(id: number, milliseconds: number): void {
  if (!connected().timer(+id, +milliseconds)) throw failure("ERR_SANDBOX_TIMERS", "too many timers");
}

export function stopTimer(id: number): void {
  connected().untimer(+id);
}

/** Writes a line to the log of the call; lines past its budget are dropped. */
export function writeLog(level: "debug" | "info" | "warn" | "error", line: string): void {
  if (host === undefined || !logging || typeof line !== "string") return;
  logging = host.log(level, sliceText(line, 0, LOG_LINE_LENGTH)) === true;
}

/** A new call has a budget of its own. */
export function resetLog(): void {
  logging = true;
}

function text(given: unknown, longest: number, what: string): string {
  // The length of a primitive string is its own: nothing on a prototype can change it.
  if (typeof given !== "string" || given.length > longest)
    throw failure("ERR_SANDBOX_REQUEST", `the ${what} is too long`);
  return given;
}

function bytesOf(view: Uint8Array): ArrayBuffer {
  const whole = view.buffer instanceof ArrayBuffer && view.byteLength === view.buffer.byteLength;
  return copyOf(whole ? (view.buffer as ArrayBuffer) : new Uint8Array(view).buffer);
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
