/** Requests of the legacy era: sessions, their GET streams and their end. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isInitializeRequest, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../adapters/contract.ts";
import { JackfieldError } from "../../errors.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import type { Store } from "../../store/database.ts";
import type { Face } from "../face.ts";
import { refuse, requestId } from "../http.ts";
import { serveWeb } from "../web.ts";
import { BATCHING, type LegacySession, openSession, settleRevived } from "./session.ts";
import { createSessionStore } from "./session-store.ts";

export interface LegacyFace {
  serve(caller: GatewayCaller, request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Every session in memory, for what concerns their upstream. */
  sessions(): Iterable<LegacySession>;
  close(): Promise<void>;
}

const MOST_IN_MEMORY = 5_000;
/** A session idle this long is put away; its record brings it back. */
const PUT_AWAY_MS = 15 * 60_000;
const SWEEP_EVERY_MS = 60_000;
const BRINGS_VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** @param store where sessions are recorded */
export function createLegacyFace(face: Face, store: Store): LegacyFace {
  const records = createSessionStore(store, face.clock);
  const live = new Map<string, Promise<LegacySession>>();
  const settled = new Map<string, LegacySession>();
  const sweeper = setInterval(() => void sweep(), SWEEP_EVERY_MS);
  sweeper.unref();

  async function serve(
    caller: GatewayCaller,
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<void> {
    const id = header(request, "mcp-session-id");
    if (request.method === "POST" && id === undefined) {
      const asked = requestId(body);
      if (!isInitializeRequest(body) || asked === null) return refuse(response, "session_required", { id: asked });
      return start(caller, request, response, { id: asked, params: body.params });
    }
    const session = id === undefined ? undefined : await find(caller, id);
    // Some clients take any 404 or 400 on a GET for the loss of the whole connection (research, client quirks).
    if (!session && request.method === "GET")
      return refuse(response, "method_not_allowed", { headers: { allow: "POST" } });
    if (!session)
      return refuse(response, id === undefined ? "session_required" : "session_not_found", { id: requestId(body) });
    session.usedAt = face.clock();
    if (Array.isArray(body) && session.row.protocolVersion !== BATCHING) {
      return refuse(response, "invalid_request", {
        text: "Batches were removed from MCP in 2025-06-18; send one message at a time.",
      });
    }
    await records.touch(session.row);
    if (request.method === "DELETE") {
      await end(session);
      response.writeHead(200).end();
      return;
    }
    if (request.method === "GET") return stream(caller, session, request, response);
    const served = session.serving();
    try {
      await serveWeb(request, response, body, (web) => session.handle(caller, accepting(web), body));
    } finally {
      served();
    }
  }

  async function start(
    caller: GatewayCaller,
    request: IncomingMessage,
    response: ServerResponse,
    body: { id: string | number; params: object },
  ): Promise<void> {
    if (settled.size >= MOST_IN_MEMORY) await sweep(true);
    if (settled.size >= MOST_IN_MEMORY) return refuse(response, "too_many", { id: body.id });
    const initialize: JsonObject = { ...body.params };
    const { id, row } = await records.create(caller, initialize, negotiated(initialize["protocolVersion"]));
    const { session, answer } = await openSession(face, caller, id, row, dutiesOf(row), body.id);
    remember(session);
    await serveWeb(request, response, {}, () => Promise.resolve(answer));
  }

  /** The session, from memory or from its record. A session belongs to the principal and grant that opened it. */
  async function find(caller: GatewayCaller, id: string): Promise<LegacySession | undefined> {
    let found = live.get(id);
    if (!found) {
      found = revive(caller, id);
      live.set(id, found);
      found.catch(() => live.delete(id));
    }
    try {
      const session = await found;
      const { row } = session;
      const own =
        row.principalKey === caller.principal.key &&
        row.clientKey === caller.principal.clientKey &&
        row.endpointId === caller.endpoint.id;
      return own ? session : undefined;
    } catch (error) {
      if (error instanceof JackfieldError && error.code === "session_not_found") return undefined;
      throw error;
    }
  }

  async function revive(caller: GatewayCaller, id: string): Promise<LegacySession> {
    const row = await records.find(id);
    const own =
      row &&
      row.principalKey === caller.principal.key &&
      row.clientKey === caller.principal.clientKey &&
      row.endpointId === caller.endpoint.id;
    if (!row || !own) throw new JackfieldError("session_not_found");
    const { session, answer } = await openSession(face, caller, id, row, dutiesOf(row), "revived");
    await settleRevived(session, caller, answer);
    await resubscribe(caller, session);
    remember(session);
    return session;
  }

  /** What the session had subscribed to lives upstream, and the upstream may have forgotten it. */
  async function resubscribe(caller: GatewayCaller, session: LegacySession): Promise<void> {
    const uris = session.row.subscriptions ?? [];
    if (uris.length === 0) return;
    const holder = { key: `session:${session.id}`, capabilities: {} };
    for (const connection of caller.toolset.served.values()) {
      await face.gateway.sessions
        .use(connection, caller.principal.key, async (upstream) => {
          for (const uri of uris) await upstream.subscribe?.(uri, holder);
        })
        .catch((error: unknown) =>
          face.log.warn(
            { connection: connection.slug, reason: String(error) },
            "a revived session could not subscribe again",
          ),
        );
    }
  }

  function remember(session: LegacySession): void {
    live.set(session.id, Promise.resolve(session));
    settled.set(session.id, session);
    const forget = face.notifier.addSession({
      principalKey: session.row.principalKey,
      place: session.place,
      streaming: session.view.streaming,
      send: session.send,
    });
    leaving.set(session.id, forget);
  }

  async function stream(
    caller: GatewayCaller,
    session: LegacySession,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const closed = session.openStream();
    response.once("close", closed);
    try {
      await serveWeb(request, response, undefined, (web) => session.handle(caller, web, undefined));
    } finally {
      closed();
    }
  }

  async function putAway(session: LegacySession): Promise<void> {
    live.delete(session.id);
    settled.delete(session.id);
    leaving.get(session.id)?.();
    leaving.delete(session.id);
    await session.close();
  }

  async function end(session: LegacySession): Promise<void> {
    await records.close(session.row);
    await putAway(session);
    await face.gateway.sessions.forget(`session:${session.id}`);
  }

  async function sweep(hard = false): Promise<void> {
    const limit = face.clock() - (hard ? 0 : PUT_AWAY_MS);
    for (const session of settled.values()) {
      if (session.busy() === 0 && session.usedAt <= limit) await putAway(session);
    }
    await records
      .sweep()
      .catch((error: unknown) => face.log.warn({ reason: String(error) }, "old sessions could not be deleted"));
  }

  const leaving = new Map<string, () => void>();
  const dutiesOf = (row: LegacySession["row"]) => ({
    keep: (change: Parameters<typeof records.update>[1]) => {
      records
        .update(row, change)
        .catch((error: unknown) => face.log.warn({ reason: String(error) }, "a session's record could not be written"));
    },
  });

  return {
    serve,
    sessions: () => settled.values(),
    async close() {
      clearInterval(sweeper);
      for (const session of [...settled.values()]) await putAway(session);
    },
  };
}

/** The revision of the session: the client's, where it is a legacy one that we serve, else our latest. */
function negotiated(requested: unknown): string {
  const legacy = SUPPORTED_PROTOCOL_VERSIONS.filter((version) => BRINGS_VERSION.test(version) && version < "2026");
  return legacy.find((version) => version === requested) ?? legacy[0] ?? "2025-11-25";
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Clients that ask for `*\/*`, or for nothing, take what they get. */
function accepting(request: Request): Request {
  const accept = request.headers.get("accept");
  if (accept === null || accept.includes("*/*")) request.headers.set("accept", "application/json, text/event-stream");
  return request;
}
