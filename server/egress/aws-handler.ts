/** The requests of AWS SDK clients through our own way out. */
import { Readable } from "node:stream";

/** What the SDK hands to its request handler. */
interface SignedRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** @param timeoutMs milliseconds until the headers of an answer are there, and its body where that is small */
export function awsRequestHandler(fetch: typeof globalThis.fetch, timeoutMs: number) {
  return {
    metadata: { handlerProtocol: "http/1.1" },
    httpHandlerConfigs: () => ({}),
    updateHttpClientConfig: () => undefined,
    async handle(request: SignedRequest) {
      const { protocol, hostname, port, path, method, headers, body } = request;
      const origin = `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`;
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(new Error("the service did not answer in time")), timeoutMs);
      try {
        const response = await fetch(`${origin}${path}${queryText(request)}`, {
          method,
          headers,
          ...(typeof body === "string" || body instanceof Uint8Array ? { body } : {}),
          redirect: "error",
          signal: abort.signal,
        });
        return {
          response: {
            statusCode: response.status,
            headers: Object.fromEntries(response.headers),
            body: Readable.from(response.body ?? [], { objectMode: false }),
          },
        };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** The order of the signature does not matter to the wire; every value is encoded as RFC 3986 wants it. */
function queryText({ query = {} }: SignedRequest): string {
  const parts = Object.entries(query).flatMap(([name, value]) => {
    if (value === null) return [encode(name)];
    return (typeof value === "string" ? [value] : value).map((each) => `${encode(name)}=${encode(each)}`);
  });
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
