/** The whole URL map on one screen. */
import { join } from "node:path";
import express, { type Express, type Request, type Response } from "express";
import { endAccountSessions, showAccount, unlinkIdentity } from "./admin/account.ts";
import { sendApproval, showApproval } from "./admin/approval.ts";
import { showApprovals } from "./admin/approvals.ts";
import { type ClientsPageParts, revokeClient, showClients } from "./admin/clients.ts";
import { finishExternal, keepExternalAnswer, showExternalMetadata, startExternal } from "./admin/external-sign-in.ts";
import { setFileHeaders } from "./admin/headers.ts";
import { showHome } from "./admin/home.ts";
import { showInvitation, takeInvitation } from "./admin/invite.ts";
import { changeMember, endInvitation, sendInvitation, showMember, showMembers } from "./admin/members.ts";
import { sendPassword, showPassword } from "./admin/password.ts";
import { serveFailure, serveNotFound } from "./admin/problems.ts";
import { sendSetup, showSetup } from "./admin/setup.ts";
import { sendSignIn, showSignIn } from "./admin/sign-in.ts";
import { sendSignOut, showSignOut } from "./admin/sign-out.ts";
import type { Site } from "./admin/site.ts";
import { changeToken, makeToken, showTokens, type TokensPageParts } from "./admin/tokens.ts";
import type { ApiRoute } from "./api/route.ts";
import { type ApiServerParts, mountApi } from "./api/serve.ts";
import type { Decisions } from "./gateway/approvals/decisions.ts";
import { serveTaskCallback } from "./gateway/task-callback.ts";
import { TASK_CALLBACK_PATH, type TaskDesks } from "./gateway/task-desk.ts";
import { type EndpointParts, serveMcp } from "./mcp/endpoint.ts";
import { type AuthorizationServer, serveResourceDocument } from "./oauth/authorization-server.ts";
import { serveAuthorize, serveLibrary, serveRegistration, serveRevocation, serveToken } from "./oauth/endpoints.ts";
import { sendConsent, showConsent } from "./oauth/interaction.ts";
import { sendStepUp, showStepUp } from "./oauth/step-up-page.ts";
import { type Readiness, serveHealth, serveReady } from "./observe/health.ts";
import type { SignInFlow } from "./signin/index.ts";

export interface RouteParts {
  /** What Express takes as `trust proxy`: whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  readonly site: Site;
  readonly decisions: Decisions;
  readonly signIn: SignInFlow["routes"];
  readonly oauth: AuthorizationServer;
  readonly tasks: TaskDesks;
  readonly mcp: EndpointParts;
  /** Its own map is `api/list.ts`. */
  readonly api: {
    readonly parts: ApiServerParts;
    readonly routes: readonly ApiRoute[];
    readonly pages: Pick<ClientsPageParts & TokensPageParts, "connectedClients" | "tokenDesk">;
  };
  readonly readiness: Readiness;
}

const PUBLIC = join(import.meta.dirname, "../public");

/** Mounts every route. Nothing else adds one. */
export function mountRoutes(parts: RouteParts): Express {
  const { trustedProxies, site, decisions, signIn, oauth, tasks, mcp, api, readiness } = parts;
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

  app.post(`${TASK_CALLBACK_PATH}/:handle`, serveTaskCallback(tasks));

  mountApi(app, api.parts, api.routes);
  mountOAuth(app, site, oauth);
  mountPages(app, site);
  mountPeople(app, site);
  mountApprovals(app, site, decisions);
  mountAccess(app, { ...site, ...api.pages });
  mountSignIn(app, site, signIn);

  app.use(serveNotFound(site));
  app.use(serveFailure(site));
  return app;
}

/** Our authorization server, and what leads clients to it. */
function mountOAuth(app: Express, site: Site, oauth: AuthorizationServer): void {
  const { guard, checkForm } = site.pages;
  const form = [guard, express.urlencoded({ extended: false, limit: "32kb", parameterLimit: 200 }), checkForm];
  const { endpoints, interaction, stepUp } = oauth;

  app.get("/.well-known/oauth-protected-resource{/*path}", guard, (request, response, next) => {
    if (!serveResourceDocument(oauth, request, response)) next();
  });
  // The issuer has no path, so that these stand at the root and nowhere else (RFC 8414 section 3).
  const library = (request: Request, response: Response) => serveLibrary(endpoints, request, response);
  app.all("/.well-known/oauth-authorization-server", guard, library);
  app.all("/.well-known/openid-configuration", guard, library);
  app.all("/oauth/jwks", guard, library);
  app.get("/oauth/authorize", guard, (request, response) => serveAuthorize(endpoints, request, response));
  app.get("/oauth/authorize/:uid", guard, library);
  app.all("/oauth/register", guard, (request, response) => serveRegistration(endpoints, request, response));
  app.all("/oauth/token", guard, (request, response) => serveToken(endpoints, request, response));
  app.all("/oauth/revoke", guard, (request, response) => serveRevocation(endpoints, request, response));
  app.get("/oauth/interaction/:uid", guard, (request, response) => showConsent(interaction, request, response));
  app.post("/oauth/interaction/:uid", form, (request: Request, response: Response) =>
    sendConsent(interaction, request, response),
  );
  app.get("/oauth/step-up/:ticket", guard, (request, response) => showStepUp(stepUp, request, response));
  app.post("/oauth/step-up/:ticket", form, (request: Request, response: Response) =>
    sendStepUp(stepUp, request, response),
  );
}

/** The pages, and the files that they are made of. */
function mountPages(app: Express, site: Site): void {
  const { guard, checkForm } = site.pages;
  const form = [guard, express.urlencoded({ extended: false, limit: "32kb", parameterLimit: 200 }), checkForm];

  app.use("/static", express.static(PUBLIC, { index: false, redirect: false, setHeaders: setFileHeaders }));
  app.get("/", guard, (request, response) => showHome(site, request, response));
  app.get("/sign-in", guard, (request, response) => showSignIn(site, request, response));
  app.post("/sign-in", form, (request: Request, response: Response) => sendSignIn(site, request, response));
  app.get("/sign-out", guard, (request, response) => showSignOut(site, request, response));
  app.post("/sign-out", form, (request: Request, response: Response) => sendSignOut(site, request, response));
  app.get("/setup/:secret", guard, (request, response) => showSetup(site, request, response));
  app.post("/setup/:secret", form, (request: Request, response: Response) => sendSetup(site, request, response));
}

/** People: how they come in through other servers and by invitation, their own pages, and those of their admins. */
function mountPeople(app: Express, site: Site): void {
  const { guard, checkForm } = site.pages;
  const form = [guard, express.urlencoded({ extended: false, limit: "32kb", parameterLimit: 200 }), checkForm];
  // Posted by another site: it carries no token of ours, and decides nothing before the browser came back with GET.
  const answer = [guard, express.urlencoded({ extended: false, limit: "512kb", parameterLimit: 20 })];
  const get = (path: string, page: SitePage): void => {
    app.get(path, guard, (request, response) => page(site, request, response));
  };
  const post = (path: string, page: SitePage, before = form): void => {
    app.post(path, before, (request: Request, response: Response) => page(site, request, response));
  };

  post("/sign-in/with/:provider", startExternal);
  get("/sign-in/with/:provider/callback", finishExternal);
  post("/sign-in/with/:provider/callback", keepExternalAnswer, answer);
  get("/sign-in/with/:provider/metadata", showExternalMetadata);
  get("/invite/:secret", showInvitation);
  post("/invite/:secret", takeInvitation);

  get("/account", showAccount);
  post("/account/sessions", endAccountSessions);
  post("/account/identities", unlinkIdentity);
  get("/account/password", showPassword);
  post("/account/password", sendPassword);

  for (const members of ["/members", "/o/:organization/members"]) {
    get(members, showMembers);
    post(members, sendInvitation);
    post(`${members}/invitations/end`, endInvitation);
    get(`${members}/:person`, showMember);
    post(`${members}/:person`, changeMember);
  }
}

type SitePage = (site: Site, request: Request, response: Response) => Promise<void> | void;

/** Deciding about calls. */
function mountApprovals(app: Express, { pages, clock }: Site, decisions: Decisions): void {
  const { guard, checkForm } = pages;
  const form = [guard, express.urlencoded({ extended: false, limit: "32kb", parameterLimit: 200 }), checkForm];
  const parts = { pages, decisions, clock };

  app.get("/approvals", guard, (request, response) => showApprovals(parts, request, response));
  app.get("/approvals/:id", guard, (request, response) => showApproval(parts, request, response));
  app.post("/approvals/:id", form, (request: Request, response: Response) => sendApproval(parts, request, response));
}

/** What programs may in the name of people, or as agents: connected clients and tokens. */
function mountAccess(app: Express, parts: ClientsPageParts & TokensPageParts): void {
  const { guard, checkForm } = parts.pages;
  const form = [guard, express.urlencoded({ extended: false, limit: "32kb", parameterLimit: 400 }), checkForm];
  for (const prefix of ["", "/o/:organization"]) {
    app.get(`${prefix}/clients`, guard, (request, response) => showClients(parts, request, response));
    app.post(`${prefix}/clients`, form, (request: Request, response: Response) =>
      revokeClient(parts, request, response),
    );
    app.get(`${prefix}/tokens`, guard, (request, response) => showTokens(parts, request, response));
    app.post(`${prefix}/tokens`, form, (request: Request, response: Response) => makeToken(parts, request, response));
    app.post(`${prefix}/tokens/change`, form, (request: Request, response: Response) =>
      changeToken(parts, request, response),
    );
  }
}

/** Signing in to connections. */
function mountSignIn(app: Express, { pages }: Site, signIn: SignInFlow["routes"]): void {
  const { guard } = pages;
  // An answer of another site: it carries no token of ours, and nothing is done before it came back with GET.
  const answer = [guard, express.urlencoded({ extended: false, limit: "16kb", parameterLimit: 20 })];
  const callback = "/connections/callback{/:registration}";

  app.get("/connections/authorize", guard, signIn.authorize);
  app.get("/connections/sign-in", guard, signIn.open);
  app.get(callback, guard, signIn.callback);
  app.post(callback, answer, signIn.renavigate);
  app.get("/oauth/client-metadata.json", signIn.clientMetadata);
}
