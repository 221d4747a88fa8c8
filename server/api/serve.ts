/** Serves the routes of `/api`: every request passes the same steps, whatever the route. */
import type { Express, NextFunction, Request, Response } from "express";
import type { Log } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { readJson } from "../mcp/http.ts";
import { type Origins, refusedHost } from "../mcp/origins.ts";
import type { Audit, AuditEvent } from "../observe/audit.ts";
import type { Limit, Limiter } from "../shared-state/contract.ts";
import { checkAccess } from "./access.ts";
import { type ApiCaller, type CallerParts, identify } from "./caller.ts";
import { openApiDocument } from "./openapi.ts";
import { sendProblem } from "./problems.ts";
import type { ApiRoute } from "./route.ts";

export interface ApiServerParts extends CallerParts {
  readonly origins: Origins;
  readonly limiter: Limiter;
  readonly audit: Audit;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Whether the server is about to end; absent where nothing knows. */
  readonly stopping?: () => boolean;
}

/** Requests of one caller over all routes. */
const LIMIT: Limit = { points: 600, perMs: 60_000 };

/** Mounts the routes, the document that describes them and the answer to everything else under `/api`. */
export function mountApi(app: Express, parts: ApiServerParts, routes: readonly ApiRoute[]): void {
  const document = openApiDocument(routes);
  app.use("/api", (request, response, next) => {
    response.set({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    if (refusedHost(parts.origins, request)) return sendProblem(response, new JackfieldError("host_refused"));
    next();
  });
  app.get("/api/openapi.json", (_request, response) => void response.json(document));
  for (const route of routes) {
    app[route.method](`/api${route.path}`, (request: Request, response: Response) =>
      serveRoute(parts, route, request, response),
    );
  }
  for (const path of new Set(["/openapi.json", ...routes.map((route) => route.path)])) {
    const methods = routes.filter((route) => route.path === path).map(({ method }) => method.toUpperCase());
    const allow = methods.length === 0 ? "GET" : [...new Set(methods)].sort().join(", ");
    app
      .route(`/api${path}`)
      .all((_request: Request, response: Response, _next: NextFunction) =>
        sendProblem(response, new JackfieldError("method_not_allowed", { text: `Send ${allow}.` }), { allow }),
      );
  }
  app.use("/api", (_request, response) => sendProblem(response, new JackfieldError("not_found")));
}

async function serveRoute(parts: ApiServerParts, route: ApiRoute, request: Request, response: Response): Promise<void> {
  const { log, clock } = parts;
  const started = clock();
  try {
    if (parts.stopping?.() === true) throw new JackfieldError("stopping");
    const { organization, ...query } = request.query;
    const named = typeof organization === "string" && organization !== "" ? organization : undefined;
    const caller = await identify(parts, request, named);
    admit(parts, route, caller, request);
    const wait = await tooOften(parts.limiter, route, caller);
    if (wait > 0) {
      const seconds = String(Math.ceil(wait / 1000));
      return sendProblem(response, new JackfieldError("rate_limited"), { "retry-after": seconds });
    }
    const body = route.body === undefined ? undefined : await readJson(request, route.bodyLimit);
    const work = route.prepare({ params: { ...request.params }, query, body }, caller);
    const answer = await recorded(parts, route, caller, request, started, work);
    if (route.response === undefined) response.status(route.status).end();
    else response.status(route.status).json(answer);
  } catch (error) {
    if (!(error instanceof JackfieldError) || error.code === "internal")
      log.error({ error, route: route.id }, "an API call failed");
    if (response.headersSent) response.destroy();
    else sendProblem(response, error, challengeOf(error));
  }
}

/** Throws where the caller may not; that is written down. */
function admit({ audit, clock }: ApiServerParts, route: ApiRoute, caller: ApiCaller, request: Request): void {
  try {
    checkAccess(route, caller, clock());
  } catch (error) {
    if (error instanceof JackfieldError) {
      audit.refused({ ...eventOf(route, caller, request), decision: "refuse", outcomeCode: error.code });
    }
    throw error;
  }
}

/** Does the work. Of a change the intent is committed before and the outcome before the answer, as of a call. */
async function recorded(
  { audit, clock }: ApiServerParts,
  route: ApiRoute,
  caller: ApiCaller,
  request: Request,
  started: number,
  work: () => Promise<unknown>,
): Promise<unknown> {
  if (route.method === "get") return work();
  const intent = await audit.begin({ ...eventOf(route, caller, request), decision: "allow" });
  const ended = () => ({ durationMs: Math.max(0, clock() - started) });
  let answer: unknown;
  try {
    answer = await work();
  } catch (error) {
    const outcomeCode = error instanceof JackfieldError ? error.code : "internal";
    await audit.finish(intent, { outcome: "error", outcomeCode, ...ended() });
    throw error;
  }
  await audit.finish(intent, { outcome: "ok", ...ended() });
  return answer;
}

function eventOf(route: ApiRoute, caller: ApiCaller, request: Request): Omit<AuditEvent, "decision"> {
  return {
    organizationId: caller.organizationId,
    principalKind: caller.kind,
    principalIssuer: caller.issuer,
    principalSubject: caller.subject,
    principalName: caller.name,
    tokenId: caller.via === "token" ? caller.id : null,
    door: "api",
    rule: route.id,
    // The path names what it is about; a query may hold what somebody typed.
    reason: `${request.method} ${request.path}`,
  };
}

async function tooOften(limiter: Limiter, { id, limit }: ApiRoute, caller: ApiCaller): Promise<number> {
  const all = await limiter.consume(`api:${caller.id}`, LIMIT);
  const own = limit === undefined ? undefined : await limiter.consume(`api:${id}:${caller.id}`, limit);
  const refused = [all, ...(own === undefined ? [] : [own])].filter(({ allowed }) => !allowed);
  return Math.max(0, ...refused.map(({ retryAfterMs }) => Math.max(1, retryAfterMs)));
}

/** RFC 6750 section 3: a refusal for want of a valid token says what to send. */
function challengeOf(error: unknown): Record<string, string> {
  if (!(error instanceof JackfieldError)) return {};
  if (error.code === "sign_in_required") return { "www-authenticate": 'Bearer realm="jackfield"' };
  if (error.code === "token_invalid") return { "www-authenticate": 'Bearer realm="jackfield", error="invalid_token"' };
  return {};
}
