/** Cross-origin access (Fetch, "CORS protocol") to what carries no cookies: discovery, registration, tokens. */
import type { ServerResponse } from "node:http";

const MAX_AGE_SECONDS = "86400";

/** Lets every page read the answer. Credentials of a browser are never part of these requests. */
export function allowAnyOrigin(response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", "WWW-Authenticate, Retry-After");
}

/** Answers a preflight. */
export function answerPreflight(response: ServerResponse, methods: string, headers: string): void {
  allowAnyOrigin(response);
  response.writeHead(204, {
    "access-control-allow-methods": methods,
    "access-control-allow-headers": headers,
    "access-control-max-age": MAX_AGE_SECONDS,
  });
  response.end();
}
