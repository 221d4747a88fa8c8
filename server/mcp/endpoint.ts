/**
 * The one entry of the MCP face (design section 4, steps 1 and 2): Host and Origin, bearer, endpoint, loops, body,
 * era. Whatever is wrong is answered here, with the status, code and header of the specification.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { classifyInboundRequest } from "@modelcontextprotocol/server";
import type { Request } from "express";
import { mayUseEndpoint } from "../access/principals.ts";
import type { ServedEndpoint, ServedEnvironment } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import type { GatewayCaller } from "../gateway/caller.ts";
import type { AgentTokens } from "../people/agent-tokens.ts";
import type { Principal } from "../people/principal.ts";
import { allowPage, answerPreflight } from "./cross-origin.ts";
import type { Face } from "./face.ts";
import { calledThrough, cameThrough } from "./hops.ts";
import { readJson, refuse, requestId } from "./http.ts";
import type { LegacyFace } from "./legacy/serve.ts";
import type { ModernFace } from "./modern/serve.ts";
import { type Origins, refusedHost, refusedOrigin } from "./origins.ts";
import type { Traffic } from "./traffic.ts";

export interface EndpointParts {
  readonly face: Face;
  readonly modern: ModernFace;
  readonly legacy: LegacyFace;
  readonly tokens: AgentTokens;
  readonly people: PeopleDoor;
  readonly origins: Origins;
  readonly traffic: Traffic;
}

/** How people come in: with tokens of our authorization server. */
export interface PeopleDoor {
  /** Undefined where the token is none, has ended or is for another endpoint. */
  verify(
    token: string,
    endpoint: ServedEndpoint | undefined,
  ): Promise<{ readonly principal: Principal; readonly mayUse: boolean } | undefined>;
  /** The value of `WWW-Authenticate`; it leads to the sign-in where the endpoint has one. */
  challenge(
    endpoint: ServedEndpoint | undefined,
    request: Request,
    error?: "invalid_token" | "insufficient_scope",
  ): string;
}

/** Which endpoint a URL names; undefined parts mean the defaults. */
export interface Address {
  readonly organization?: string;
  readonly endpoint?: string;
}

const BEARER = /^Bearer +([^\s]+) *$/i;

/** Serves one HTTP request to an MCP endpoint. Never rejects: what goes wrong is logged once and answered. */
export async function serveMcp(
  parts: EndpointParts,
  address: Address,
  request: Request,
  response: ServerResponse,
): Promise<void> {
  try {
    await serve(parts, address, request, response);
  } catch (error) {
    const known = error instanceof JackfieldError ? error : undefined;
    if (!known || known.code === "internal") parts.face.log.error({ reason: reasonOf(error) }, "a request failed");
    if (response.headersSent) response.destroy();
    else refuse(response, known?.code ?? "internal", known ? { text: known.message } : {});
  }
}

async function serve(
  parts: EndpointParts,
  address: Address,
  request: Request,
  response: ServerResponse,
): Promise<void> {
  const { face, origins } = parts;
  if (parts.traffic.stopping) return refuse(response, "stopping", { headers: { connection: "close" } });
  if (refusedHost(origins, request)) return refuse(response, "host_refused");
  if (refusedOrigin(origins, request)) return refuse(response, "origin_refused");
  allowPage(request, response);
  if (request.method === "OPTIONS") return answerPreflight(response);
  if (!["POST", "GET", "DELETE"].includes(request.method ?? "")) {
    return refuse(response, "method_not_allowed", { headers: { allow: "GET, POST, DELETE" } });
  }
  // Before the token: whoever loops should learn that it does, not that it may not.
  if (cameThrough(face.instanceId, request)) return refuse(response, "loop_detected");
  const found = face.registry.endpoint(address.organization, address.endpoint);
  const principal = await authenticate(parts, found?.endpoint, request, response);
  if (!principal) return;
  const { organization, endpoint } = address;
  const seen = principal.testing ? face.registry.tried(organization, endpoint) : found;
  const caller = callerFor(parts, seen, principal, request);
  // A caller that may not use an endpoint gets the answer of one that does not exist.
  if (!caller) return refuse(response, "not_found");
  if (principal.scopes.size === 0)
    return refuse(response, "scope_missing", {
      headers: { "www-authenticate": parts.people.challenge(found?.endpoint, request, "insufficient_scope") },
    });

  const body = request.method === "POST" ? await readJson(request) : undefined;
  if (calledThrough(face.instanceId, body)) return refuse(response, "loop_detected", { id: requestId(body) });
  const protocolVersionHeader = headerOf(request, "mcp-protocol-version");
  const mcpMethodHeader = headerOf(request, "mcp-method");
  const mcpNameHeader = headerOf(request, "mcp-name");
  const route = classifyInboundRequest({
    httpMethod: request.method ?? "",
    ...(protocolVersionHeader === undefined ? {} : { protocolVersionHeader }),
    ...(mcpMethodHeader === undefined ? {} : { mcpMethodHeader }),
    ...(mcpNameHeader === undefined ? {} : { mcpNameHeader }),
    ...(body === undefined ? {} : { body }),
  });
  // Streams that only listen end when the server does; everything else may finish.
  const leave = request.method === "POST" && !listens(body) ? parts.traffic.enter() : undefined;
  if (leave) response.once("close", leave);
  else parts.traffic.stream([principal.tokenId, principal.key], response);
  if (route.kind === "legacy") await parts.legacy.serve({ ...caller, era: "legacy" }, request, response, body);
  else await parts.modern.serve({ ...caller, era: "modern" }, request, response, body);
  face.log.debug({ method: request.method, status: response.statusCode, era: route.kind }, "request");
}

/** The principal behind the bearer token; where there is none the answer has been sent. */
async function authenticate(
  { tokens, people }: EndpointParts,
  endpoint: ServedEndpoint | undefined,
  request: Request,
  response: ServerResponse,
): Promise<Principal | undefined> {
  const { authorization } = request.headers;
  if (authorization === undefined) {
    refuse(response, "token_missing", { headers: { "www-authenticate": people.challenge(endpoint, request) } });
    return undefined;
  }
  const token = BEARER.exec(authorization)?.[1];
  const { ip } = request;
  const agent = token === undefined ? undefined : await tokens.verify(token, ip === undefined ? {} : { ip });
  if (agent) return agent;
  const person = token === undefined ? undefined : await people.verify(token, endpoint);
  if (person?.mayUse) return person.principal;
  if (person) refuse(response, "not_found");
  else {
    const challenge = people.challenge(endpoint, request, "invalid_token");
    refuse(response, "token_invalid", { headers: { "www-authenticate": challenge } });
  }
  return undefined;
}

function callerFor(
  { face }: EndpointParts,
  found: { endpoint: ServedEndpoint; environment: ServedEnvironment } | undefined,
  principal: Principal,
  request: IncomingMessage,
): Omit<GatewayCaller, "era"> | undefined {
  if (!found || found.endpoint.organizationId !== principal.organizationId) return undefined;
  const { endpoint, environment } = found;
  if (!principal.endpointIds.includes(endpoint.id)) return undefined;
  if (principal.kind === "agent" && !mayAgentUse(endpoint, principal)) return undefined;
  const traceId = headerOf(request, "traceparent")?.split("-")[1];
  return {
    principal,
    endpoint,
    environment,
    toolset: face.toolsets.for(environment, endpoint),
    holderKey: createHash("sha256").update(`${principal.key}|${principal.clientKey}`).digest("hex"),
    ...(traceId ? { traceId } : {}),
  };
}

/** An agent is named by its name; a person's own token may go where the person may. */
function mayAgentUse({ config: { principals } }: ServedEndpoint, { name, membership }: Principal): boolean {
  if (membership !== undefined) return mayUseEndpoint(principals, membership);
  return principals === undefined || principals.agents.includes(name);
}

function listens(body: unknown): boolean {
  return typeof body === "object" && body !== null && "method" in body && body.method === "subscriptions/listen";
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
