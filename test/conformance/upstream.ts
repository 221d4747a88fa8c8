/**
 * The MCP server that the official conformance suites are run against, directly and through the proxy. It serves
 * 2026-07-28 without sessions and the earlier revisions with real sessions that answer over event streams: without
 * these, questions in mid-call cannot reach a client.
 *
 * Run alone: node test/conformance/upstream.ts [port]
 */

import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  createRequestStateCodec,
  isInitializeRequest,
  isLegacyRequest,
  McpServer,
} from "@modelcontextprotocol/server";
import { registerOneRoundTools, registerSessionAskingTools } from "./upstream/asking-tools.ts";
import { createEventStore } from "./upstream/event-store.ts";
import {
  type ListChanges,
  registerContentTools,
  registerSchemaTools,
  registerStreamingTools,
} from "./upstream/plain-tools.ts";
import { registerPrompts } from "./upstream/prompts.ts";
import { registerResources } from "./upstream/resources.ts";
import { type CallState, registerStatefulTools } from "./upstream/stateful-tools.ts";

/** A running upstream; `url` is its MCP endpoint. */
export interface ConformanceUpstream {
  readonly url: string;
  close(): Promise<void>;
}

interface Session {
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly server: McpServer;
}

/** A server's incoming message always has these two; Node's type is shared with clients, where it has not. */
type Request = IncomingMessage & { method: string; url: string };

const MAX_BODY_BYTES = 4 * 1024 * 1024;

const ERAS = ["both", "modern", "legacy"] as const;
/** Which revisions the upstream serves: 2026-07-28, the earlier ones, or both. */
export type Eras = (typeof ERAS)[number];

/** Whether a word names eras. */
export function isEras(word: string): word is Eras {
  return ERAS.some((eras) => eras === word);
}

/** Starts the upstream on loopback. Port 0, the default, takes a free one. */
export async function startConformanceUpstream(
  options: { port?: number; eras?: Eras } = {},
): Promise<ConformanceUpstream> {
  const { port = 0, eras = "both" } = options;
  const codec = createRequestStateCodec<CallState>({ key: randomBytes(32) });
  const sessions = new Map<string, Session>();

  const changes: ListChanges = {
    toolsChanged() {
      modern.notify.toolsChanged();
      for (const { server } of sessions.values()) server.sendToolListChanged();
    },
    promptsChanged() {
      modern.notify.promptsChanged();
      for (const { server } of sessions.values()) server.sendPromptListChanged();
    },
  };

  const build = (): McpServer => {
    const server = new McpServer(
      { name: "jackfield-conformance-upstream", version: "1.0.0" },
      {
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          prompts: { listChanged: true },
          logging: {},
          completions: {},
        },
        requestState: { verify: codec.verify },
      },
    );
    registerContentTools(server);
    registerStreamingTools(server, changes);
    registerSchemaTools(server);
    registerSessionAskingTools(server);
    registerOneRoundTools(server);
    registerStatefulTools(server, codec);
    registerResources(server);
    registerPrompts(server);
    return server;
  };

  const modern = createMcpHandler(build, { legacy: "reject" });
  const serveModern = toNodeHandler(modern);

  const openSession = async (): Promise<NodeStreamableHTTPServerTransport> => {
    const server = build();
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      onsessioninitialized: (id) => void sessions.set(id, { transport, server }),
    });
    transport.onclose = () => void sessions.delete(transport.sessionId ?? "");
    await server.connect(transport);
    return transport;
  };

  const allowedHost = localhostHostValidation();
  const allowedOrigin = localhostOriginValidation();

  const serve = async (request: Request, response: ServerResponse): Promise<void> => {
    if (!allowedHost(request, response) || !allowedOrigin(request, response)) return;
    if (new URL(request.url, "http://localhost").pathname !== "/mcp") return refuse(response, 404, "Not found");
    const body = await readBody(request);
    if (body === "too large") return refuse(response, 413, "Request body too large");
    if (!(await isLegacyRequest(await toWebRequest(request, body.value), body.value))) {
      // What a server of an earlier revision says to a request without a session.
      if (eras === "legacy") return refuse(response, 400, "Bad Request: Server not initialized");
      return serveModern(request, response, body.value);
    }
    if (eras === "modern") return serveModern(request, response, body.value);
    const id = request.headers["mcp-session-id"];
    if (id === undefined) {
      if (!isInitializeRequest(body.value)) return refuse(response, 400, "Mcp-Session-Id is required");
      return (await openSession()).handleRequest(request, response, body.value);
    }
    const session = sessions.get(String(id));
    if (session === undefined) return refuse(response, 404, "Session not found");
    return session.transport.handleRequest(request, response, body.value);
  };

  const http = createServer((request, response) => {
    serve(request as Request, response).catch((error: unknown) => {
      process.stderr.write(`conformance upstream: ${String(error)}\n`);
      if (response.headersSent) response.destroy();
      else refuse(response, 500, "Internal error");
    });
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, "127.0.0.1", resolve);
  });

  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async close() {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      await modern.close();
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
      http.closeAllConnections();
      await closed;
    },
  };
}

/** Reads the body and parses it; what is not JSON stays a string, which no era accepts. */
async function readBody(request: IncomingMessage): Promise<{ value: unknown } | "too large"> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) return "too large";
    chunks.push(chunk as Buffer);
  }
  if (size === 0) return { value: undefined };
  const source = Buffer.concat(chunks).toString("utf8");
  try {
    return { value: JSON.parse(source) };
  } catch {
    return { value: source };
  }
}

/** Ends an HTTP request with a JSON-RPC error that has no id. */
function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32600, message }, id: null }));
}

if (import.meta.main) {
  const upstream = await startConformanceUpstream({ port: Number(process.argv[2] ?? 0) });
  process.stdout.write(`${upstream.url}\n`);
  process.once("SIGTERM", () => void upstream.close());
  process.once("SIGINT", () => void upstream.close());
}
