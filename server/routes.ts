/** The whole URL map on one screen. */
import express, { type Express } from "express";
import { type EndpointParts, serveMcp } from "./mcp/endpoint.ts";
import { refuse } from "./mcp/http.ts";
import { type Readiness, serveHealth, serveReady } from "./observe/health.ts";

export interface RouteParts {
  /** What Express takes as `trust proxy`: whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly mcp: EndpointParts;
  readonly readiness: Readiness;
}

/** Mounts every route. Nothing else adds one. */
export function mountRoutes({ trustedProxies, mcp, readiness }: RouteParts): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", [...trustedProxies]);

  app.get("/health", serveHealth);
  app.get("/ready", serveReady(readiness));

  app.all("/mcp", (request, response) => serveMcp(mcp, {}, request, response));
  app.all("/mcp/:endpoint", (request, response) => serveMcp(mcp, request.params, request, response));
  app.all("/o/:organization/mcp", (request, response) => serveMcp(mcp, request.params, request, response));
  app.all("/o/:organization/mcp/:endpoint", (request, response) => serveMcp(mcp, request.params, request, response));

  app.use((_request, response) => refuse(response, "not_found"));
  return app;
}
