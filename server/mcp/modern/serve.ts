/** Requests of the modern era (MCP 2026-07-28): stateless, one server object each, any replica. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { authInfoOf, callerOfInfo, type Face } from "../face.ts";
import { refuse, requestId } from "../http.ts";
import { buildServer } from "../server.ts";
import { serveWeb } from "../web.ts";
import { paramHeaderProblem } from "./param-headers.ts";
import { createSubscriptions } from "./subscriptions.ts";

export interface ModernFace {
  serve(caller: GatewayCaller, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  close(): Promise<void>;
}

/** Listen streams of one holder, and of this process. */
const MOST_LISTENING = { each: 32, all: 5_000 };
const KEPT_HANDLERS = 2_000;
const HEADER_MISMATCH = -32020;

/** Makes the modern face of this process. */
export function createModernFace(face: Face): ModernFace {
  const handlers = new Map<string, McpHttpHandler>();
  const subscriptions = createSubscriptions(face);

  /** One SDK handler per holder, because its change events reach every stream of it. */
  function handlerFor(caller: GatewayCaller): McpHttpHandler {
    const place = { endpointId: caller.endpoint.id, holderKey: caller.holderKey };
    const key = `${place.endpointId}|${place.holderKey}`;
    let handler = handlers.get(key);
    if (handler) handlers.delete(key);
    else {
      handler = createMcpHandler(({ authInfo }) => buildServer(face, callerOfInfo(authInfo), undefined), {
        legacy: "reject",
        bus: face.notifier.busFor(place, caller.principal.key),
        maxSubscriptions: MOST_LISTENING.each,
        onerror: (error) => face.log.debug({ reason: error.message }, "modern request"),
      });
    }
    handlers.set(key, handler);
    // A handler that is dropped goes on serving its open streams; a new one takes its holder's next request.
    if (handlers.size > KEPT_HANDLERS) handlers.delete(handlers.keys().next().value ?? key);
    return handler;
  }

  return {
    async serve(caller, request, response, body) {
      const method = methodOf(body);
      if (method === "subscriptions/listen" && face.notifier.listenCount >= MOST_LISTENING.all) {
        return refuse(response, "too_many", { id: requestId(body) });
      }
      const problem = method === "tools/call" ? paramHeaderProblem(caller, paramsOf(body), request.headers) : undefined;
      if (problem) return answerError(response, 400, HEADER_MISMATCH, problem, requestId(body));
      const release =
        method === "subscriptions/listen" && caller.toolset.transparent
          ? await subscriptions.hold(caller, subscriptionsOf(paramsOf(body)))
          : undefined;
      try {
        const authInfo = authInfoOf(caller);
        await serveWeb(request, response, body, (web) => handlerFor(caller).fetch(web, { authInfo, parsedBody: body }));
      } finally {
        await release?.();
      }
    },
    async close() {
      await Promise.all([...handlers.values()].map((handler) => handler.close()));
      handlers.clear();
    },
  };
}

function methodOf(body: unknown): unknown {
  return typeof body === "object" && body !== null && "method" in body ? body.method : undefined;
}

function paramsOf(body: unknown): JsonObject {
  const params = typeof body === "object" && body !== null && "params" in body ? body.params : undefined;
  return typeof params === "object" && params !== null ? { ...params } : {};
}

function subscriptionsOf(params: JsonObject): string[] {
  const wanted = params["notifications"];
  const uris =
    typeof wanted === "object" && wanted !== null && "resourceSubscriptions" in wanted
      ? wanted.resourceSubscriptions
      : [];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string").slice(0, 100) : [];
}

function answerError(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  id: string | number | null,
): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id }));
}
