/**
 * The five functions that code inside has: http, crypto, timer, untimer, log. Arguments come from a stranger; they were
 * copied already, so their sizes are bounded inside (`runtime/bridge.ts`), and everything is checked here again.
 */
import { computeForIsolate } from "./isolate-crypto.ts";
import {
  HEADER_BYTES,
  HEADER_COUNT,
  type HttpRequest,
  LOG_LINE_LENGTH,
  type LogLevel,
  URL_LENGTH,
  type WorkerLimits,
} from "./protocol.ts";

/** What a call in flight lets the functions do. Without one, nothing leaves the isolate. */
export interface Outlet {
  readonly call: number;
  send(request: HttpRequest): void;
  log(level: LogLevel, text: string): void;
  /** Bytes that may still be logged. */
  logBytes: number;
  requests: number;
}

const LEVELS: ReadonlySet<unknown> = new Set<LogLevel>(["debug", "info", "warn", "error"]);

function isLevel(given: unknown): given is LogLevel {
  return LEVELS.has(given);
}

/** Pairs of texts within the bounds of a request, or undefined. */
function readHeaders(given: unknown): [string, string][] | undefined {
  if (typeof given !== "string") return undefined;
  const parsed: unknown = JSON.parse(given);
  if (!Array.isArray(parsed) || parsed.length > HEADER_COUNT) return undefined;
  const pairs: [string, string][] = [];
  let bytes = 0;
  for (const pair of parsed as unknown[]) {
    if (!Array.isArray(pair)) return undefined;
    const [name, value] = pair as unknown[];
    if (typeof name !== "string" || typeof value !== "string") return undefined;
    bytes += name.length + value.length;
    pairs.push([name, value]);
  }
  return bytes <= HEADER_BYTES ? pairs : undefined;
}

export class HostFunctions {
  readonly #limits: WorkerLimits;
  readonly #outlet: () => Outlet | undefined;
  readonly #fire: (timer: number) => void;
  readonly #timers = new Map<number, NodeJS.Timeout>();

  /** @param outlet of the call in flight @param fire tells the isolate that a timer is due */
  constructor(limits: WorkerLimits, outlet: () => Outlet | undefined, fire: (timer: number) => void) {
    this.#limits = limits;
    this.#outlet = outlet;
    this.#fire = fire;
  }

  /** How many timers are running. */
  get timers(): number {
    return this.#timers.size;
  }

  http([id, method, url, headers, body]: readonly unknown[]): string | undefined {
    const outlet = this.#outlet();
    if (outlet === undefined) return "no call is in flight";
    if (outlet.requests >= this.#limits.requestsPerCall) {
      return `a call may send ${this.#limits.requestsPerCall} requests`;
    }
    if (typeof id !== "number" || !Number.isSafeInteger(id)) return "the request has no number";
    if (typeof method !== "string" || !/^[A-Za-z]{1,32}$/.test(method)) return "the method is none";
    if (typeof url !== "string" || url.length > URL_LENGTH) return "the URL is too long";
    const pairs = readHeaders(headers);
    if (pairs === undefined) return "there are too many headers, or they are too long";
    const bytes = body instanceof ArrayBuffer ? new Uint8Array(body) : new Uint8Array();
    if (bytes.byteLength > this.#limits.requestBodyBytes) {
      return `the body of a request may have ${this.#limits.requestBodyBytes} bytes`;
    }
    outlet.requests += 1;
    outlet.send({ type: "request", call: outlet.call, request: id, method, url, headers: pairs, body: bytes });
    return undefined;
  }

  crypto([operation, how, ...parts]: readonly unknown[]): unknown {
    return computeForIsolate(operation, how, parts);
  }

  timer([id, milliseconds]: readonly unknown[]): boolean {
    if (typeof id !== "number" || typeof milliseconds !== "number") return false;
    if (this.#outlet() === undefined || this.#timers.size >= this.#limits.timers) return false;
    clearTimeout(this.#timers.get(id));
    const wait = Math.min(Math.max(Math.trunc(milliseconds) || 1, 1), 2 ** 31 - 1);
    const due = (): void => {
      this.#timers.delete(id);
      this.#fire(id);
    };
    this.#timers.set(id, setTimeout(due, wait));
    return true;
  }

  untimer([id]: readonly unknown[]): void {
    if (typeof id !== "number") return;
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  log([level, text]: readonly unknown[]): boolean {
    const outlet = this.#outlet();
    if (outlet === undefined || !isLevel(level) || typeof text !== "string") return false;
    const line = text.slice(0, LOG_LINE_LENGTH);
    outlet.logBytes -= line.length;
    if (outlet.logBytes < 0) return false;
    outlet.log(level, line);
    return true;
  }

  /** Ends every timer: nothing of a call goes on after it. */
  stop(): void {
    for (const timeout of this.#timers.values()) clearTimeout(timeout);
    this.#timers.clear();
  }
}
