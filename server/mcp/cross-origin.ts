/** Calls of pages (Fetch, "CORS protocol"): clients that run in a browser. No call carries cookies, only a token. */
import type { IncomingMessage, ServerResponse } from "node:http";

const READABLE = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After";
/** Whatever it likes (`Mcp-Param-*` among them); the star does not cover the token. */
const SENDABLE = "*, Authorization";

/** Lets the page that calls read the answer, the challenge of a 401 included. Whether it may call was checked before. */
export function allowPage(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", READABLE);
  response.setHeader("vary", "Origin");
}

/** Answers a preflight, which comes without a token, before anything asks for one. */
export function answerPreflight(response: ServerResponse): void {
  response.writeHead(204, {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": SENDABLE,
    "access-control-max-age": "86400",
  });
  response.end();
}
