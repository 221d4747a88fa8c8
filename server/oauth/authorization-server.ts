/** Composes the authorization server of our own MCP endpoints. */
import type { Request, Response } from "express";
import type Provider from "oidc-provider";
import type { KoaContextWithOIDC } from "oidc-provider";
import { mayUseEndpoint } from "../access/principals.ts";
import type { Pages } from "../admin/pages.ts";
import type { Registry } from "../connections/registry.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import type { Toolsets } from "../gateway/toolset.ts";
import type { Audit } from "../observe/audit.ts";
import type { Log } from "../observe/log.ts";
import { membershipOf } from "../people/membership.ts";
import { networkOf } from "../people/network.ts";
import { type SharedState, TOPICS } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { OAuthGrantRow } from "../store/models/oauth-grants.ts";
import type { Keyring } from "../vault/keyring.ts";
import { type AccessTokens, createAccessTokens } from "./access-tokens.ts";
import { noteGrant, type OAuthEvent } from "./audit.ts";
import { createDocuments, reachesInternet } from "./client-metadata.ts";
import { type Clients, createClients } from "./clients.ts";
import type { ToolCounts } from "./consent-question.ts";
import { type Consents, createConsents } from "./consents.ts";
import { allowAnyOrigin } from "./cors.ts";
import type { EndpointParts } from "./endpoints.ts";
import { errorMessage, type OAuthError } from "./error-page.ts";
import { createGrants, type EndReason, type Grants } from "./grants.ts";
import type { InteractionParts } from "./interaction.ts";
import { createRequestLimits } from "./limits.ts";
import { resourceDocument } from "./metadata.ts";
import { createProvider } from "./provider.ts";
import { createReaper, type Reaper } from "./reaping.ts";
import { createResources, type Resources } from "./resources.ts";
import type { OAuthSettings } from "./settings.ts";
import { createStepUps } from "./step-up.ts";
import type { StepUpPageParts } from "./step-up-page.ts";
import { createStorage, grantKeyOf } from "./storage.ts";
import { widenGrant } from "./wider-grants.ts";

export interface AuthorizationServer {
  readonly tokens: AccessTokens;
  readonly resources: Resources;
  readonly grants: Grants;
  readonly clients: Clients;
  readonly consents: Consents;
  readonly endpoints: EndpointParts;
  readonly interaction: InteractionParts;
  readonly stepUp: StepUpPageParts;
  readonly reaper: Reaper;
  /** Our public origin. */
  readonly issuer: () => string;
  /** A person's role, membership or right to sign in changed: every process looks at their tokens anew. */
  personChanged(personId: string): Promise<void>;
  /** Finds out what depends on where we are; call it once the public origin is known. */
  start(): void;
  close(): Promise<void>;
}

export interface AuthorizationServerOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly shared: SharedState;
  readonly registry: Registry;
  readonly audit: Audit;
  readonly log: Log;
  readonly clock: () => number;
  readonly pages: Pages;
  readonly settings: OAuthSettings;
  /** The public origin; known once the server listens. */
  readonly origin: () => string;
  /** For what strangers name: https to public addresses only. */
  readonly fetch: typeof globalThis.fetch;
  readonly toolsets: Toolsets;
}

const REPLAYS: ReadonlySet<EndReason> = new Set(["code_replayed", "refresh_replayed"]);

export function createAuthorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const { store, keyring, shared, registry, audit, log, clock, pages, settings, origin } = options;
  const pending = new Set<Promise<void>>();
  const later = (work: Promise<unknown>, what: string): void => {
    const done = work
      .then(() => undefined)
      .catch((error: unknown) => log.warn({ error }, what))
      .finally(() => pending.delete(done));
    pending.add(done);
  };
  const note = (event: OAuthEvent, grant: OAuthGrantRow, reason: string): void =>
    later(noteGrant({ audit, store }, event, grant, reason), "an event of the authorization server was not noted");

  const resources = createResources({ registry, origin });
  const clients = createClients({ store, keyring, clock });
  const consents = createConsents({ store, clock });
  const grants = createGrants({
    store,
    bus: shared.bus,
    clock,
    onEnd: (grant, reason) => note(REPLAYS.has(reason) ? "replayed" : "revoked", grant, reason),
  });
  const reaper = createReaper({ store, grants, locks: shared.locks, log, clock });
  const limits = createRequestLimits(shared.limiter);
  const tokens = createAccessTokens({
    ...{ store, keyring, bus: shared.bus, grants, resources, log, clock },
    onForeign: ({ tokenId }) =>
      later(
        grants.live(tokenId).then((grant) => grant && note("foreign_audience", grant, "a token of another endpoint")),
        "a token that came to another endpoint was not noted",
      ),
  });

  const storage = createStorage({
    store,
    keyring,
    clients,
    grants,
    clock,
    graceMs: settings.refreshGraceMs,
    onGrace: (grantKey) =>
      later(
        grants.find(grantKey).then((grant) => grant && note("grace_used", grant, "a refresh token was used twice")),
        "the second use of a refresh token was not noted",
      ),
  });

  /** Whether a person may still use what a grant is for; before there is one, whether they may sign in at all. */
  async function isActive(personId: string, grantId: string | undefined): Promise<boolean> {
    const person = await store.models.people.findOne({ where: { id: personId, disabledAt: null } });
    if (person === null || grantId === undefined) return person !== null;
    const grant = await grants.find(grantKeyOf(grantId));
    const endpoint = grant && resources.find(grant.resource);
    if (grant === undefined || endpoint?.id !== grant.endpointId) return false;
    const member = await membershipOf(store, grant.organizationId, person);
    return member !== undefined && mayUseEndpoint(endpoint.config.principals, member);
  }

  function renderError(ctx: KoaContextWithOIDC, out: OAuthError, error: Error): void {
    const { client_id: clientId } = ctx.query;
    log.info({ error: out.error, detail: error.message, route: ctx.oidc?.route }, "an authorization ended in an error");
    if (ctx.accepts("json", "html") !== "html") {
      ctx.type = "json";
      ctx.body = out;
      return;
    }
    // The response is express's own: the library was handed it.
    const response = ctx.res as Response;
    ctx.respond = false;
    pages.renderMessage(response, errorMessage(out, ctx.status, typeof clientId === "string" ? clientId : ""));
  }

  async function make(): Promise<Provider> {
    const documents =
      settings.clientDocuments === "auto" ? await reachesInternet(options.fetch) : settings.clientDocuments === "on";
    log.info({ issuer: origin(), documents }, "the authorization server is ready");
    const known = createDocuments({ fetch: options.fetch, redirects: settings.redirects, log, clock });
    const provider = createProvider({
      issuer: origin(),
      settings,
      documents,
      keyring,
      storage,
      resources,
      fetch: known.fetch,
      // The request is the one that express knows the address of, as far as proxies are trusted.
      allowFetch: async (ctx, clientId) =>
        settings.allowsDocumentHost(new URL(clientId).hostname) &&
        !known.hasFailed(clientId) &&
        (await limits.take("document", networkOf((ctx.req as Request).ip))) === 0,
      isActive,
      renderError,
    });
    // Koa would write to the console.
    provider.onerror = (error) => log.error({ error }, "the authorization server failed");
    provider.on("server_error", (_ctx, error) => log.error({ error }, "the authorization server failed"));
    provider.on("grant.success", (ctx) => {
      const id = ctx.oidc.client?.clientId;
      if (id !== undefined) later(clients.used(id), "the last use of a client was not written");
    });
    provider.on("grant.error", (ctx, error) =>
      log.info({ error: error.error, detail: error.error_detail, client: ctx.oidc.client?.clientId }, "no token given"),
    );
    return provider;
  }

  let making: Promise<Provider> | undefined;
  const provider = (): Promise<Provider> => {
    making ??= make();
    return making;
  };

  const asking = {
    ...{ pages, store, audit, clients, consents, grants, resources, clock },
    toolCounts: (endpoint: ServedEndpoint) => countTools(registry, options.toolsets, endpoint),
  };
  return {
    tokens,
    resources,
    grants,
    clients,
    consents,
    reaper,
    issuer: origin,
    endpoints: { provider, issuer: origin, pages, resources, clients, limits, reaper, settings },
    interaction: { ...asking, provider },
    stepUp: {
      ...asking,
      stepUps: createStepUps({ keyring, bus: shared.bus, grants, origin, clock }),
      widen: (grant, scopes) => widenGrant({ store, keyring, bus: shared.bus }, grant, scopes),
    },
    personChanged: (personId) => shared.bus.publish(TOPICS.tokens, { personId }),
    start() {
      provider().catch((error: unknown) => log.error({ error }, "the authorization server cannot start"));
      void reaper.sweepIfDue();
    },
    async close() {
      await Promise.allSettled([making]);
      await reaper.close();
      await tokens.close();
      await Promise.all(pending);
    },
  };
}

function countTools(registry: Registry, toolsets: Toolsets, endpoint: ServedEndpoint): ToolCounts {
  const environment = registry.environment(endpoint.environmentId);
  const entries = environment === undefined ? [] : toolsets.for(environment, endpoint).entries;
  const writing = entries.filter((entry) => entry.class === "write");
  return {
    read: entries.length - writing.length,
    write: writing.length,
    asking: writing.filter((entry) => entry.approval === "required").length,
  };
}

/** `/.well-known/oauth-protected-resource[/<path of an endpoint>]` (RFC 9728 section 3). */
export function serveResourceDocument(server: AuthorizationServer, request: Request, response: Response): boolean {
  const origin = server.resources.shownOrigin(request.headers.host);
  const path = request.path.replace(/^\/\.well-known\/oauth-protected-resource/, "").replace(/\/+$/, "");
  const endpoint = server.resources.find(`${origin}${path}`);
  if (endpoint === undefined) return false;
  allowAnyOrigin(response);
  // The root document is the default endpoint's; any other says the path that it was asked under.
  const resource = path === "" ? `${origin}/mcp` : `${origin}${path}`;
  response.set("cache-control", "public, max-age=300").json(resourceDocument(endpoint, resource, server.issuer()));
  return true;
}
