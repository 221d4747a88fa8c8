/** Between node's requests and the web-standard ones of the SDK. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { toWebRequest } from "@modelcontextprotocol/node";

/**
 * Serves one node request with a fetch-shaped handler. The handler's signal aborts, and its stream is cancelled, at
 * the moment the client hangs up, which in MCP 2026-07-28 is how a call is cancelled.
 */
export async function serveWeb(
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  handle: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  response.once("close", onClose);
  const answer = await handle(await toWebRequest(headersOf(request), body, { signal: gone.signal }));
  if (gone.signal.aborted) {
    await answer.body?.cancel();
    return;
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) {
    response.end();
    return;
  }
  // An event stream may stay silent for long; its client waits for the headers.
  response.flushHeaders();
  const reader = answer.body.getReader();
  const cancel = () => void reader.cancel().catch(() => response.destroy());
  gone.signal.addEventListener("abort", cancel, { once: true });
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (!response.write(part.value)) await drained(response);
    }
  } finally {
    gone.signal.removeEventListener("abort", cancel);
    response.removeListener("close", onClose);
    response.end();
  }
}

/** What the SDK's conversion reads of a request whose body was read before. */
function headersOf(request: IncomingMessage): Parameters<typeof toWebRequest>[0] {
  const { method = "GET", url = "/", headers } = request;
  return { method, url, headers, [Symbol.asyncIterator]: () => request[Symbol.asyncIterator]() };
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.removeListener("drain", done);
      response.removeListener("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
    if (response.destroyed) done();
  });
}
