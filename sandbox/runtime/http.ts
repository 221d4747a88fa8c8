/** `node:http` and `node:https`: clients only. They differ in the scheme of what has none. */
import { EventEmitter } from "./events.ts";
import { ClientRequest, type RequestOptions } from "./http-request.ts";
import { IncomingMessage } from "./http-response.ts";
import { Writable } from "./stream.ts";
import { standIn, unavailable } from "./unavailable.ts";

type OnResponse = (response: IncomingMessage) => void;

const METHODS = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
const STATUS_CODES: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  206: "Partial Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Payload Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Options of a connection; nothing here keeps one. */
class Agent extends EventEmitter {
  readonly options: object;
  readonly keepAlive: boolean;
  readonly protocol = "https:";
  readonly defaultPort = 443;
  readonly sockets = {};
  readonly freeSockets = {};
  readonly requests = {};
  maxSockets = Number.POSITIVE_INFINITY;
  maxFreeSockets = 256;

  constructor(options: { keepAlive?: boolean } = {}) {
    super();
    this.options = options;
    this.keepAlive = options.keepAlive === true;
  }

  createConnection(): never {
    throw unavailable("http.Agent.createConnection");
  }

  getName(): string {
    return "";
  }

  addRequest(): void {}

  destroy(): void {}
}

function fromUrl(url: URL): RequestOptions {
  const { protocol, hostname, port, pathname, search, username, password } = url;
  const auth = username === "" ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { protocol, hostname, port, path: pathname + search, ...(auth !== undefined && { auth }) };
}

function isUrl(given: unknown): given is URL {
  return typeof given === "object" && given !== null && "href" in given && "searchParams" in given;
}

function invalid(code: string, message: string): TypeError {
  return Object.assign(new TypeError(message), { code });
}

function createModule(scheme: "http:" | "https:"): object {
  /** `request(url, options?, callback?)` and `request(options, callback?)`. */
  const request = (target: string | URL | RequestOptions, ...rest: (RequestOptions | OnResponse | undefined)[]) => {
    const callback = rest.find((item): item is OnResponse => typeof item === "function");
    const given = typeof target === "string" ? new URL(target) : target;
    if (!isUrl(given)) return new ClientRequest(given, scheme, callback);
    const options = rest.find((item): item is RequestOptions => typeof item === "object");
    return new ClientRequest({ ...fromUrl(given), ...options }, scheme, callback);
  };
  return {
    request,
    get(...args: Parameters<typeof request>) {
      const sent = request(...args);
      sent.end();
      return sent;
    },
    Agent,
    globalAgent: new Agent(),
    ClientRequest,
    IncomingMessage,
    OutgoingMessage: Writable,
    ServerResponse: standIn("http.ServerResponse"),
    Server: standIn("http.Server"),
    createServer: standIn("http.createServer"),
    METHODS,
    STATUS_CODES,
    maxHeaderSize: 16_384,
    validateHeaderName(name: unknown): void {
      if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(String(name))) return;
      throw invalid("ERR_INVALID_HTTP_TOKEN", `Header name must be a valid HTTP token ["${String(name)}"]`);
    },
    validateHeaderValue(name: unknown, value: unknown): void {
      if (value === undefined)
        throw invalid("ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value for header "${String(name)}"`);
      if (!/[^\t\x20-\x7e\x80-\xff]/.test(String(value))) return;
      throw invalid("ERR_INVALID_CHAR", `Invalid character in header content ["${String(name)}"]`);
    },
  };
}

export const http = createModule("http:");
export const https = createModule("https:");
