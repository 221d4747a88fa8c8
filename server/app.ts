/** Composes the product from its parts, which `app/` puts together by subject. Every test of behaviour starts here. */
import type { Express } from "express";
import { apiRoutes } from "./api/list.ts";
import type { ApiParts } from "./api/parts.ts";
import { openCalls } from "./app/calls.ts";
import { openConfiguration } from "./app/configuration.ts";
import { openFoundation } from "./app/foundation.ts";
import { createListener } from "./app/listener.ts";
import { openMcp } from "./app/mcp.ts";
import type { AppOptions } from "./app/options.ts";
import { openPeopleParts } from "./app/people.ts";
import { openUpstreams } from "./app/upstreams.ts";
import { publicOrigin } from "./config.ts";
import type { Authoring } from "./connections/authoring.ts";
import type { Registry } from "./connections/registry.ts";
import type { StoredCredentials } from "./connections/stored-credentials.ts";
import { floorOf, type OpenApprovals } from "./gateway/approvals/open.ts";
import { createToolsets } from "./gateway/toolset.ts";
import type { AuthorizationServer } from "./oauth/authorization-server.ts";
import { createConnectedClients } from "./oauth/connected-clients.ts";
import { peopleDoor } from "./oauth/people-door.ts";
import type { Audit } from "./observe/audit.ts";
import type { AgentTokens } from "./people/agent-tokens.ts";
import { createTokenDesk } from "./people/token-desk.ts";
import { mountRoutes } from "./routes.ts";
import { readerOf } from "./signin/reader.ts";
import type { Store } from "./store/database.ts";

export type { AppOptions } from "./app/options.ts";

export interface App {
  /** Starts listening. Rejects with node's own error (`EADDRINUSE`, `EACCES`) where it cannot. */
  listen(): Promise<{ url: string }>;
  /** Stops taking requests, lets those in flight finish, flushes the audit, closes everything. */
  close(): Promise<void>;
  /** Reads the configuration files again; rejects, and changes nothing, where they are wrong. */
  reload(): Promise<void>;
  readonly store: Store;
  readonly registry: Registry;
  readonly tokens: AgentTokens;
  readonly credentials: StoredCredentials;
  readonly oauth: AuthorizationServer;
  readonly audit: Audit;
  /** What the listener serves; tests look at which routes there are. */
  readonly express: Express;
  /** What edits of connections, endpoints and environments need. */
  readonly authoring: Authoring;
  readonly approvals: OpenApprovals;
  /** Resolves when every connection's catalogue was fetched, or failed to be, once since the start. */
  readonly loaded: Promise<void>;
}

/** Milliseconds that calls in flight get to finish when the server stops. */
const DRAIN_MS = 8_000;
/** Milliseconds after which no answer of any kind is waited for any more. */
const LISTENER_MS = DRAIN_MS + 500;

/** Opens everything but the listener. Throws JackfieldError with one clear line where something cannot be opened. */
export async function createApp(options: AppOptions): Promise<App> {
  const foundation = await openFoundation(options);
  const { config, store, shared, tokens, audit, egress, publicUrl, log, clock } = foundation;
  const configuration = await openConfiguration(foundation);
  const { credentials, pieces, registry, reload, authoring, jackfield } = configuration;
  const upstreams = openUpstreams(foundation, configuration);
  const { accounts, sessions, catalogue } = upstreams;
  const toolsets = createToolsets(floorOf(jackfield));
  const people = openPeopleParts(foundation, configuration, upstreams, toolsets, options.fetchDocument);
  const { origins, site, signInFlow, oauth } = people;
  const calls = await openCalls(foundation, configuration, upstreams, people, toolsets, options);
  const { gateway, approvals, assets, tasks } = calls;
  const mcp = openMcp(foundation, configuration, upstreams, calls, toolsets, options);
  const { face, traffic, legacy, modern } = mcp;

  const longestDays = () => jackfield().tokens.longestDays;
  const api: ApiParts = {
    tokenDesk: createTokenDesk({ store, tokens, registry, audit, longestDays, clock }),
    connectedClients: createConnectedClients({ store, grants: oauth.grants, consents: oauth.consents, audit }),
    ...{ authoring, credentials, accounts, members: site.members, invitations: site.invitations },
    checking: { store, sessions, readerOf: readerOf(accounts), clock },
    disconnect: signInFlow.disconnect,
    publicOrigin: publicUrl,
    ...{ store, tokens, registry, audit, origins, log, clock },
    ...{ sessions: site.sessions, csrf: site.csrf, limiter: shared.limiter },
    ...{ decisions: approvals.decisions, gateway, toolsets },
    stopping: () => traffic.stopping,
  };
  const express = mountRoutes({
    api: { parts: api, routes: apiRoutes(api), pages: api },
    trustedProxies: config.trustedProxies,
    site,
    decisions: approvals.decisions,
    signIn: signInFlow.routes,
    oauth,
    tasks,
    mcp: { face, modern, legacy, tokens, people: peopleDoor(oauth), traffic, origins },
    readiness: {
      async problems() {
        const reachable = await store.ping().then(
          () => [],
          () => ["the database does not answer"],
        );
        return traffic.stopping ? ["stopping", ...reachable] : reachable;
      },
    },
  });
  const listener = createListener(config, express);

  return {
    ...{ store, registry, tokens, credentials, oauth, audit, express, authoring, approvals, reload },
    loaded: catalogue.start(),
    async listen() {
      const { address, port } = await listener.listen();
      foundation.listensAt(address, port);
      oauth.start();
      // Not in the way of anybody: what is offered and not there appears when it is installed.
      pieces.installMissing();
      return { url: new URL("/mcp", publicOrigin(config, port)).href };
    },
    async close() {
      const drained = traffic.stop(DRAIN_MS);
      const closed = listener.stop(LISTENER_MS);
      mcp.stopFollowing();
      configuration.stopFollowing();
      await drained;
      await mcp.close();
      await closed;
      // Together: a service that hangs would hold its reading until its session ends.
      await Promise.all([catalogue.close(), sessions.close(), pieces.close()]);
      face.activations.close();
      tasks.close();
      accounts.close();
      credentials.close();
      registry.close();
      await oauth.close();
      await tokens.close();
      await approvals.sweep.close();
      await configuration.auditRetention.close();
      await assets.close();
      await audit.close();
      await egress.close();
      await shared.close();
      await store.close();
    },
  };
}
