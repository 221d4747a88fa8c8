/** The requests of one call: what a worker asks for, sent through egress, answered over the channel. */
import type { PoolOptions, Refusal, SandboxLimits } from "./contract.ts";
import type { HttpAnswer, HttpRequest } from "./protocol.ts";

/** Hop-by-hop (RFC 9110, 7.6.1), or decided by egress. */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate"],
  ...["proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
]);
/** Of the answer: egress has decoded the body, so what speaks of its encoding is no longer true. */
const NOT_TOLD: ReadonlySet<string> = new Set([
  ...["connection", "content-encoding", "content-length", "keep-alive", "proxy-authenticate", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);
const METHODS: ReadonlySet<string> = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
/** Codes of egress that say no; everything else is a network that failed. */
const REFUSALS: ReadonlySet<string> = new Set(["blocked_address", "loop_detected"]);
const BLOCKED = "ERR_SANDBOX_BLOCKED_ADDRESS";

export class CallRequests {
  readonly refusals: Refusal[] = [];
  /** Requests that may have reached somebody. */
  sent = 0;
  readonly #fetch: PoolOptions["fetch"];
  readonly #limits: SandboxLimits;
  readonly #abort = new AbortController();
  #asked = 0;

  constructor(fetch: PoolOptions["fetch"], limits: SandboxLimits) {
    this.#fetch = fetch;
    this.#limits = limits;
  }

  /** Ends what is under way; nobody waits for it any more. */
  stop(): void {
    this.#abort.abort();
  }

  /** Sends one request without following redirects. Never rejects. */
  async answer(request: HttpRequest): Promise<HttpAnswer> {
    this.#asked += 1;
    if (this.#asked > this.#limits.requestsPerCall) {
      return failed("ERR_SANDBOX_REQUEST", `a call may send ${this.#limits.requestsPerCall} requests`);
    }
    if (request.body.byteLength > this.#limits.requestBodyBytes) {
      return failed("ERR_SANDBOX_REQUEST", `the body of a request may have ${this.#limits.requestBodyBytes} bytes`);
    }
    const method = request.method.toUpperCase();
    if (!METHODS.has(method)) return failed("ERR_SANDBOX_REQUEST", `the method ${method} cannot be sent`);
    if (!URL.canParse(request.url)) return failed("ERR_INVALID_URL", "Invalid URL");
    const url = new URL(request.url);
    url.hash = "";
    return this.#send(method, url, request);
  }

  async #send(method: string, url: URL, { headers, body }: HttpRequest): Promise<HttpAnswer> {
    this.sent += 1;
    try {
      const kept = new Headers();
      for (const [name, value] of headers) if (!NOT_SENT.has(name.toLowerCase())) kept.append(name, value);
      const response = await this.#fetch(url, {
        method,
        headers: kept,
        redirect: "manual",
        signal: this.#abort.signal,
        ...(body.byteLength > 0 && { body: new Uint8Array(body) }),
      });
      const read = await readBody(response, this.#limits.responseBodyBytes);
      if (read === undefined) {
        return failed("ERR_SANDBOX_RESPONSE", `the answer has more than ${this.#limits.responseBodyBytes} bytes`);
      }
      const told = [...response.headers].filter(([name]) => !NOT_TOLD.has(name.toLowerCase()));
      return { status: response.status, statusText: response.statusText, headers: told, body: read };
    } catch (error) {
      return this.#failed(error, method, url);
    }
  }

  #failed(error: unknown, method: string, url: URL): HttpAnswer {
    const code = codeOf(error);
    if (!REFUSALS.has(code)) return failed(code, `the request to ${url.host} failed`);
    this.sent -= 1;
    this.refusals.push({ code, method, origin: url.origin });
    return failed(BLOCKED, "the address may not be reached from here");
  }
}

function failed(code: string, message: string): HttpAnswer {
  return { error: { code, message } };
}

/** The code of an error, or of what caused it. */
function codeOf(error: unknown): string {
  for (let link = error, depth = 0; link instanceof Error && depth < 5; link = link.cause, depth++) {
    if (link.name === "AbortError") return "ECONNABORTED";
    if ("code" in link && typeof link.code === "string") return link.code;
  }
  return error instanceof TypeError ? "ERR_INVALID_ARG_VALUE" : "ECONNRESET";
}

/** The whole body, or undefined where it is longer than `most` bytes. */
async function readBody(response: Response, most: number): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
