/** The requests of one agent: who we are, the credential that its card asks for, and what a bad status means. */
import { type AdapterContext, UpstreamError } from "../contract.ts";
import { isObject } from "../http-request/json.ts";
import { send } from "../http-request/send.ts";
import { statusFailure, wordsOf } from "../mcp/failures.ts";
import { checkedEvents } from "./events.ts";
import type { CardSecurity } from "./security.ts";

/** Statuses that say something about us or the road, not about the request. */
const NOT_THE_AGENTS = new Set([401, 403, 407, 429, 508]);

/**
 * The fetch that the SDK's transports get. Redirects of what an agent is told stay at its origin, and errors that are
 * no A2A errors are thrown as what their status means.
 */
export function agentFetch(context: AdapterContext, security: CardSecurity): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const { method = "GET", body, signal } = init;
    if (body !== undefined && body !== null && typeof body !== "string") {
      throw new TypeError("requests to agents are text");
    }
    const response = await send(context, {
      plan: security.security === undefined ? {} : { security: security.security },
      schemes: security.schemes,
      request: {
        method,
        url: input instanceof Request ? input.url : String(input),
        headers: Object.fromEntries(new Headers(init.headers)),
        body: typeof body === "string" ? { kind: "text", value: body } : { kind: "none" },
      },
      signal: signal ?? context.signal,
    });
    const { status } = response;
    if (status < 300) return checkedEvents(response);
    if (status < 400) {
      await response.body?.cancel();
      throw new UpstreamError(
        "upstream_protocol",
        "The agent redirects to another origin, where the message was not sent.",
        { processed: "no" },
      );
    }
    const text = await response.text();
    if (NOT_THE_AGENTS.has(status) || !isA2aError(text)) throw statusFailure(status, wordsOf(text));
    return new Response(text, { status, headers: { "content-type": "application/json" } });
  };
}

/** The fetch for the card itself, which asks for a credential only where the service does. */
export function cardFetch(context: AdapterContext): typeof globalThis.fetch {
  const open = agentFetch(context, { schemes: {}, security: [] });
  const withCredential = agentFetch(context, { schemes: {}, security: undefined });
  return async (input, init) => {
    try {
      return await open(input, init);
    } catch (error) {
      const wanted = error instanceof UpstreamError && error.code === "authentication_required";
      if (!wanted || (await context.credential()) === undefined) throw error;
      return withCredential(input, init);
    }
  };
}

/** JSON-RPC and REST of 1.0 put it under `error`; REST of 0.3 gives `code` and `message` alone. */
function isA2aError(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) && (isObject(body["error"]) || typeof body["code"] === "number");
  } catch {
    return false;
  }
}
