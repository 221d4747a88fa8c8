/** One legacy session in this process: the SDK's server and transport, made new or from its record. */
import { type Server, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import type { McpSessionRow } from "../../store/models/mcp-sessions.ts";
import { authInfoOf, type Face, type SessionView } from "../face.ts";
import type { Place } from "../notifier.ts";
import { buildServer } from "../server.ts";

/** The only revision with batches (removed in 2025-06-18). */
export const BATCHING = "2025-03-26";

export interface LegacySession {
  readonly id: string;
  readonly row: McpSessionRow;
  readonly place: Place;
  readonly view: SessionView;
  /** Last request, in milliseconds since the epoch. */
  usedAt: number;
  /** Requests being served and streams open; a session in use is not put away. */
  readonly busy: () => number;
  /** Notes that a request is being served, until the returned function is called: when its whole answer has left. */
  serving(): () => void;
  handle(caller: GatewayCaller, request: Request, body: unknown): Promise<Response>;
  /** Notes that the GET stream is open, until the returned function is called. */
  openStream(): () => void;
  send(method: string, params?: JsonObject): void;
  close(): Promise<void>;
}

export interface SessionDuties {
  /** Told when the session's log level or subscriptions change, to be kept in its record. */
  keep(change: Partial<Pick<McpSessionRow, "logLevel" | "subscriptions">>): void;
}

/**
 * Brings a session up. `initialize` is played to a fresh transport, which is how the SDK learns the session's id,
 * protocol version and client; for a new session its answer goes to the client, for a revived one it is dropped.
 */
export async function openSession(
  face: Face,
  caller: GatewayCaller,
  id: string,
  row: McpSessionRow,
  duties: SessionDuties,
  initializeId: string | number,
): Promise<{ session: LegacySession; answer: Response }> {
  let streams = 0;
  let requests = 0;
  const subscriptions = new Set(row.subscriptions ?? []);
  const view: SessionView = {
    id,
    logLevel: row.logLevel ?? undefined,
    streaming: () => streams > 0,
    rememberLogLevel(level) {
      view.logLevel = level;
      duties.keep({ logLevel: level });
    },
    rememberSubscription(uri, subscribed) {
      if (subscribed) subscriptions.add(uri);
      else subscriptions.delete(uri);
      duties.keep({ subscriptions: [...subscriptions] });
    },
  };
  const server: Server = await buildServer(face, caller, view);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    maxRequestBodySize: 4 * 1024 * 1024,
  });
  const onError = (error: Error) => face.log.debug({ session: row.id, reason: error.message }, "legacy session");
  server.onerror = onError;
  await server.connect(transport);
  const play = (body: JsonObject) =>
    transport.handleRequest(playedRequest(id, row.protocolVersion), { authInfo: authInfoOf(caller), parsedBody: body });
  const answer = await play({ jsonrpc: "2.0", id: initializeId, method: "initialize", params: row.initialize });

  const session: LegacySession = {
    id,
    row,
    place: { endpointId: caller.endpoint.id, holderKey: caller.holderKey },
    view,
    usedAt: face.clock(),
    busy: () => requests + streams,
    serving() {
      requests += 1;
      let open = true;
      return () => {
        if (open) requests -= 1;
        open = false;
      };
    },
    async handle(by, request, body) {
      const answer = await transport.handleRequest(request, {
        authInfo: authInfoOf(by),
        ...(body === undefined ? {} : { parsedBody: body }),
      });
      const cancelled = cancelledBy(body);
      // A cancelled request gets no response (2025-11-25, basic/utilities/cancellation), and its stream would stay open
      // for as long as the session. The stream of a batch carries the answers of others.
      if (cancelled !== undefined && row.protocolVersion !== BATCHING) transport.closeSSEStream(cancelled);
      return answer;
    },
    openStream() {
      streams += 1;
      let open = true;
      return () => {
        if (open) streams -= 1;
        open = false;
      };
    },
    send(method, params) {
      server.notification({ method, ...(params ? { params } : {}) }).catch(onError);
    },
    async close() {
      await server.close();
    },
  };
  return { session, answer };
}

/** Marks a revived session as initialized; its client said so long ago. */
export async function settleRevived(session: LegacySession, caller: GatewayCaller, answer: Response): Promise<void> {
  await answer.body?.cancel();
  const request = playedRequest(session.id, session.row.protocolVersion);
  await session.handle(caller, request, { jsonrpc: "2.0", method: "notifications/initialized" });
}

/** The request that a message takes back. */
function cancelledBy(body: unknown): string | number | undefined {
  if (!isJsonObject(body) || body["method"] !== "notifications/cancelled" || !isJsonObject(body["params"])) return;
  const { requestId } = body["params"];
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined;
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

function playedRequest(id: string, protocolVersion: string): Request {
  return new Request("http://session.invalid/", {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-session-id": id,
      "mcp-protocol-version": protocolVersion,
    },
  });
}
