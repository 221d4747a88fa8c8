/** `http.IncomingMessage` of an answer that has arrived whole. */
import type { Answer } from "./bridge.ts";
import { Buffer } from "./buffer.ts";
import { EventEmitter } from "./events.ts";
import { Readable } from "./stream.ts";

/** What libraries do to a socket: set options on it and listen to it. */
export function createSocket(): InstanceType<typeof EventEmitter> {
  const socket = new EventEmitter();
  const same = (): typeof socket => socket;
  return Object.assign(socket, {
    setKeepAlive: same,
    setNoDelay: same,
    setTimeout: same,
    ref: same,
    unref: same,
    end: same,
    destroy: same,
    connecting: false,
    destroyed: false,
    encrypted: true,
    authorized: true,
    readable: true,
    writable: true,
    remoteAddress: "0.0.0.0",
  });
}

/** Headers of which Node keeps the first and drops the rest (`message.headers`). */
const ONCE: ReadonlySet<string> = new Set([
  ...["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host", "last-modified"],
  ...["location", "max-forwards", "proxy-authorization", "referer", "retry-after", "server", "user-agent"],
]);

export class IncomingMessage extends Readable {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly httpVersion = "1.1";
  readonly httpVersionMajor = 1;
  readonly httpVersionMinor = 1;
  readonly headers: Record<string, string | string[]> = {};
  readonly rawHeaders: string[] = [];
  readonly trailers = {};
  readonly rawTrailers: string[] = [];
  readonly complete = true;
  readonly aborted = false;
  readonly socket = createSocket();
  readonly connection = this.socket;
  readonly req: unknown;

  constructor(answer: Answer, request: unknown) {
    super();
    this.req = request;
    this.statusCode = answer.status;
    this.statusMessage = answer.statusText;
    for (const [name, value] of answer.headers) {
      const key = name.toLowerCase();
      this.rawHeaders.push(name, value);
      const before = this.headers[key];
      if (key === "set-cookie") this.headers[key] = Array.isArray(before) ? [...before, value] : [value];
      else if (before === undefined) this.headers[key] = value;
      else if (!ONCE.has(key)) this.headers[key] = `${String(before)}, ${value}`;
    }
    if (answer.body.byteLength > 0) this.push(Buffer.from(answer.body));
    this.push(null);
  }

  override _read(): void {}

  setTimeout(): this {
    return this;
  }
}
