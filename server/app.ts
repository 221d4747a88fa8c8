/** Composes the product from its parts. Every test of behaviour starts here. */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { Express } from "express";
import type { Log } from "../adapters/contract.ts";
import { createSignInPages } from "./admin/connection-sign-in.ts";
import { createSite } from "./admin/site.ts";
import { apiRoutes } from "./api/list.ts";
import type { ApiParts } from "./api/parts.ts";
import { openAssets } from "./assets/open.ts";
import { type Config, publicOrigin } from "./config.ts";
import { assetLimits, storageChoice } from "./connections/asset-schema.ts";
import type { Authoring } from "./connections/authoring.ts";
import { createCatalogue } from "./connections/catalogue.ts";
import { FILES } from "./connections/edits.ts";
import { configurationEnv } from "./connections/environment.ts";
import { loadConfigDir } from "./connections/files.ts";
import { publishConfig } from "./connections/publish.ts";
import { createRegistry, type Registry } from "./connections/registry.ts";
import { createSessions } from "./connections/sessions.ts";
import { createStoredCredentials, type StoredCredentials } from "./connections/stored-credentials.ts";
import { vaultChoiceOf } from "./connections/vault-choice.ts";
import type { Resolver } from "./egress/agent.ts";
import { createEgress } from "./egress/fetch.ts";
import type { Closed } from "./egress/policy.ts";
import { floorOf, type OpenApprovals, openApprovals } from "./gateway/approvals/open.ts";
import { createSchemas } from "./gateway/arguments.ts";
import { createAuthorizations } from "./gateway/authorization.ts";
import type { Gateway } from "./gateway/call.ts";
import { createTaskDesks } from "./gateway/task-desk.ts";
import { createToolsets } from "./gateway/toolset.ts";
import { createActivations } from "./mcp/activation.ts";
import { createParkingLot } from "./mcp/asking/parking.ts";
import { createStateSeal } from "./mcp/asking/state-seal.ts";
import { relayChanges } from "./mcp/changes.ts";
import type { Face } from "./mcp/face.ts";
import { createHolds } from "./mcp/hold.ts";
import { HOP_HEADER } from "./mcp/hops.ts";
import { createLegacyFace } from "./mcp/legacy/serve.ts";
import { createModernFace } from "./mcp/modern/serve.ts";
import { createNotifier } from "./mcp/notifier.ts";
import { originsFor } from "./mcp/origins.ts";
import { createTraffic } from "./mcp/traffic.ts";
import { type AuthorizationServer, createAuthorizationServer } from "./oauth/authorization-server.ts";
import { createConnectedClients } from "./oauth/connected-clients.ts";
import { peopleDoor } from "./oauth/people-door.ts";
import { settingsOf } from "./oauth/settings.ts";
import { type Audit, createAudit } from "./observe/audit.ts";
import { createAuditRetention } from "./observe/audit-retention.ts";
import { createLog } from "./observe/log.ts";
import { type AgentTokens, createAgentTokens } from "./people/agent-tokens.ts";
import { assertionKeys, createCallerAssertions } from "./people/caller-assertions.ts";
import { personKey } from "./people/people.ts";
import type { Principal } from "./people/principal.ts";
import { principalMay } from "./people/principal-permissions.ts";
import { createTokenDesk } from "./people/token-desk.ts";
import { openPieces } from "./pieces/open.ts";
import { mountRoutes } from "./routes.ts";
import { openSharedState } from "./shared-state/open.ts";
import { endAccountsOf } from "./signin/departure.ts";
import { createSignInFlow } from "./signin/index.ts";
import { openAccounts } from "./signin/open-accounts.ts";
import { createPackets } from "./signin/packets.ts";
import { createPairing } from "./signin/pairing.ts";
import { readerOf } from "./signin/reader.ts";
import { openStore, type Store } from "./store/database.ts";
import { instanceIdOf } from "./store/instance.ts";
import { migrate } from "./store/migrate.ts";
import { openKeyring } from "./vault/keyring.ts";
import { openVault } from "./vault/open.ts";
import { VERSION } from "./version.ts";

export interface AppOptions {
  readonly config: Config;
  readonly log?: Log;
  /** Milliseconds since the epoch; tests move it. */
  readonly clock?: () => number;
  /** Names to addresses; tests decide it. */
  readonly resolver?: Resolver;
  /** A certificate (PEM) that is trusted beside those that Node trusts; tests make one. */
  readonly trust?: string;
  /** Milliseconds of silence, and in all, that a call may last. */
  readonly timeouts?: Gateway["timeouts"];
  /** Milliseconds a parked question waits for its answer. */
  readonly parkedMs?: number;
  /** Milliseconds a call waits for its approval, where its client can wait. */
  readonly approvalWaitMs?: number;
  /** What fetches the metadata documents of clients; by default guarded, and public addresses only. */
  readonly fetchDocument?: typeof globalThis.fetch;
}

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

const TIMEOUTS = { callMs: 120_000, maxMs: 15 * 60_000 };
const PARKED_MS = 5 * 60_000;
/** Below the 60 s after which the clients measured give a request up, progress or not. */
const APPROVAL_WAIT_MS = 45_000;
/** Milliseconds that calls in flight get to finish when the server stops. */
const DRAIN_MS = 8_000;
const FREED_EVERY_MS = 50;
/** Idle keep-alive connections are kept longer than common load balancers keep theirs (60 s). */
const KEEP_ALIVE_MS = 75_000;

/** Opens everything but the listener. Throws JackfieldError with one clear line where something cannot be opened. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, clock = Date.now } = options;
  const log = options.log ?? createLog(config);
  const keyring = await openKeyring({ config, dataDir: config.dataDir });
  const store = await openStore({ url: config.databaseUrl, dataDir: config.dataDir, log });
  await migrate(store);
  const shared = await openSharedState({ config, store, log });
  const instanceId = await instanceIdOf(store);
  const tokens = createAgentTokens({ store, bus: shared.bus, clock, log });
  const audit = createAudit({ store, keyring, log, clock });
  // Known before we listen, so that a connection to ourselves is not taken for one that nobody serves yet.
  const listeners: Closed[] = config.port === 0 ? [] : [{ host: config.host, port: config.port, own: true }];
  const services = [config.databaseUrl, config.redisUrl].flatMap(listenerOf);
  const egress = createEgress({
    allow: config.allowPrivateUpstreams,
    closed: () => [...listeners, ...services],
    ...(options.resolver ? { resolver: options.resolver } : {}),
    ...(options.trust === undefined ? {} : { trust: options.trust }),
    keepAcrossOrigins: [HOP_HEADER],
  });

  const env = configurationEnv(process.env, config);
  const choice = vaultChoiceOf(loadConfigDir(config.configDir, env));
  const vault = await openVault({ choice, store, keyring, fetch: egress.upstreamFetch });
  const credentials = createStoredCredentials({ store, vault, bus: shared.bus, clock });
  const stopRereading = shared.bus.subscribe("keys", () => keyring.reread());
  let { jackfield } = loadConfigDir(config.configDir, env);
  const hop = { header: HOP_HEADER, value: instanceId };
  const pieces = openPieces({
    ...{ dataDir: config.dataDir, shared, fetch: egress.upstreamFetch, hop, env, log, clock },
    activepieces: () => jackfield.activepieces,
  });
  const publish = async () => {
    const loaded = loadConfigDir(config.configDir, env);
    const { drafted } = await publishConfig({ store, bus: shared.bus }, pieces.withFree(loaded), FILES, clock);
    jackfield = loaded.jackfield;
    for (const { organization, environment } of drafted) {
      log.info({ organization, environment }, "what the files say waits in the draft until somebody publishes it");
    }
  };
  await publish();
  const registry = createRegistry({ store, bus: shared.bus, log, pieces: pieces.offers });
  await registry.ready;
  /** What is offered of the pieces stands in no table, so the registry has to be told. */
  const reload = async () => {
    await publish();
    await registry.reload();
  };
  const authoring: Authoring = {
    store,
    bus: shared.bus,
    log,
    clock,
    oauthApps: () => Object.keys(jackfield.oauthApps),
  };
  const reread = () => {
    reload().catch((error: unknown) =>
      log.error({ reason: String(error) }, "the configuration could not be read again"),
    );
  };
  const stopReloading = [
    shared.bus.subscribe("reload", () => {
      reread();
      pieces.installMissing();
    }),
    shared.bus.subscribe("pieces", () => {
      pieces.offers.reread();
      reread();
    }),
  ];
  const auditRetention = createAuditRetention({
    store,
    keyring,
    locks: shared.locks,
    retention: () => jackfield.audit.retention,
    log,
    clock,
  });
  const publicUrl = () => publicOrigin(config, listeners.find(({ own }) => own)?.port ?? config.port);
  const allowsLoopback = config.allowPrivateUpstreams.some(([base]) => base.range() === "loopback");
  const desk = openAccounts({
    store,
    keyring,
    shared,
    credentials,
    jackfield: () => jackfield,
    env,
    egress,
    publicUrl,
    allowsLoopback,
    hop,
    pieceSignIn: (id) => pieces.offers.oauth(id),
    log,
    clock,
  });
  const { accounts } = desk;
  const identity = { name: "jackfield", title: "Jackfield", version: VERSION };
  const sessions = createSessions({
    store,
    log,
    clock,
    fetch: egress.upstreamFetch,
    named: egress.namedBy,
    fetchStream: egress.upstreamStream,
    identity,
    hop,
    env,
    credentials,
    credentialFor: desk.credentialFor,
    pieces: pieces.host,
  });
  const catalogue = createCatalogue({
    store,
    bus: shared.bus,
    locks: shared.locks,
    registry,
    sessions,
    readerOf: readerOf(accounts),
    log,
    clock,
  });
  const failedToRead = (error: unknown) =>
    log.error({ reason: String(error) }, "the catalogue of a connection could not be stored");
  const origins = originsFor(config.host, config.publicUrl);
  const site = createSite({
    store,
    keyring,
    limiter: shared.limiter,
    audit,
    origins,
    otherAccess: {
      endGrants: (organizationId, personId) => oauth.grants.endAll({ organizationId, personId }, "person_removed"),
      endTokens: (organizationId, personId) => tokens.revokeOwn(organizationId, personId),
      endAccounts: (organizationId, personId) =>
        endAccountsOf(
          { store, registry, accounts, clients: desk.clients, egress, clock, log },
          organizationId,
          personId,
        ),
      changed: (personId) => oauth.personChanged(personId),
    },
    publicUrl: config.publicUrl,
    publicOrigin: publicUrl,
    jackfield: () => jackfield,
    env,
    egress,
    log,
    clock,
  });
  const signInFlow = createSignInFlow({
    store,
    keyring,
    egress,
    desk,
    publicUrl,
    allowsLoopback,
    hop,
    registry,
    verify: async (token, ip) =>
      (await tokens.verify(token, ip === undefined ? {} : { ip })) ?? oauth.tokens.personOf(token),
    pages: createSignInPages(site.pages, site.cookies),
    onConnected: (connection) => void catalogue.refresh(connection).catch(failedToRead),
    log,
    clock,
  });
  const mayConnect = (principal: Principal) => principalMay(store, principal, "connections:write");
  const authorizations = createAuthorizations({
    connected: desk.connected,
    settled: desk.settled,
    signInUrl: (connection, principal) => signInFlow.signInUrl(connection, principal),
    mayConnect,
    bus: shared.bus,
  });
  const assets = await openAssets({
    choice: storageChoice(jackfield.assets),
    limits: () => assetLimits(jackfield.assets),
    store,
    dataDir: config.dataDir,
    fetch: egress.upstreamStream,
    locks: shared.locks,
    log,
    clock,
  });
  const tasks = createTaskDesks({ store, keyring, bus: shared.bus, publicUrl, log, clock });
  const toolsets = createToolsets(floorOf(() => jackfield));
  const approvals = openApprovals({
    store,
    keyring,
    bus: shared.bus,
    audit,
    registry,
    toolsets,
    jackfield: () => jackfield,
    publicUrl,
    waitMs: options.approvalWaitMs ?? APPROVAL_WAIT_MS,
    log,
    clock,
  });
  const gateway: Gateway = {
    tasks,
    assertions: createCallerAssertions({ keys: assertionKeys(keyring), issuer: publicUrl, clock }),
    schemas: createSchemas(log),
    sessions,
    authorizations,
    assets: assets.keeper,
    approvals,
    audit,
    log,
    clock,
    timeouts: options.timeouts ?? TIMEOUTS,
  };
  const notifier = createNotifier();
  const face: Face = {
    gateway,
    registry,
    toolsets,
    activations: createActivations({ store, bus: shared.bus, clock, origin: randomBytes(8).toString("hex") }),
    holds: createHolds(),
    notifier,
    parking: createParkingLot(options.parkedMs ?? PARKED_MS),
    pairing: createPairing({
      accounts,
      packets: createPackets({ store, keyring, clock }),
      sessions,
      fetchFor: egress.namedBy,
      mayConnect,
      connected: (connection) => void catalogue.refresh(connection).catch(failedToRead),
      env,
      identity,
      hop,
      log,
    }),
    stateSeal: createStateSeal(keyring, clock),
    identity,
    instanceId,
    log,
    clock,
  };
  const oauth = createAuthorizationServer({
    store,
    keyring,
    shared,
    registry,
    audit,
    log,
    clock,
    pages: site.pages,
    settings: settingsOf(jackfield.oauth, env),
    origin: publicUrl,
    fetch: options.fetchDocument ?? egress.strangerFetch,
    toolsets,
  });
  const traffic = createTraffic();
  const legacy = createLegacyFace(face, store);
  const modern = createModernFace(face);
  const changes = relayChanges(face, legacy, shared.bus);
  const stopCutting = shared.bus.subscribe("tokens", ({ id, personId }) => {
    if (typeof id === "string") traffic.cut(id);
    if (typeof personId === "string") traffic.cut(personKey(personId));
  });
  const longestDays = () => jackfield.tokens.longestDays;
  const tokenDesk = createTokenDesk({ store, tokens, registry, audit, longestDays, clock });
  const api: ApiParts = {
    tokenDesk,
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
  const http = createServer(express);
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  http.headersTimeout = KEEP_ALIVE_MS + 1_000;

  return {
    store,
    registry,
    tokens,
    credentials,
    oauth,
    audit,
    express,
    authoring,
    approvals,
    loaded: catalogue.start(),
    async listen() {
      const { address, port } = await listening(http, config);
      listeners.push({ host: address, port, own: true });
      oauth.start();
      // Not in the way of anybody: what is offered and not there appears when it is installed.
      pieces.installMissing();
      return { url: new URL("/mcp", publicOrigin(config, port)).href };
    },
    reload,
    async close() {
      const drained = traffic.stop(DRAIN_MS);
      const closed = http.listening ? new Promise<void>((resolve) => http.close(() => resolve())) : Promise.resolve();
      http.closeIdleConnections();
      changes.close();
      stopCutting();
      for (const stop of stopReloading) stop();
      stopRereading();
      await drained;
      // Streams end before the listener, which would wait for them for ever.
      face.parking.close();
      await modern.close();
      await legacy.close();
      // A client's connection that was just freed would hold the listener for as long as the client keeps it.
      const freed = setInterval(() => http.closeIdleConnections(), FREED_EVERY_MS);
      await closed;
      clearInterval(freed);
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
      await auditRetention.close();
      await assets.close();
      await audit.close();
      await egress.close();
      await shared.close();
      await store.close();
    },
  };
}

/** Where a service of ours listens, as far as its URL says so: no connection may reach it. */
function listenerOf(url: string | undefined): Closed[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { protocol, hostname, port } = new URL(url);
  if (hostname === "") return [];
  const standard = protocol.startsWith("redis") ? 6379 : 3306;
  const hosts = hostname === "localhost" ? ["127.0.0.1", "::1"] : [hostname.replace(/^\[|\]$/g, "")];
  return hosts.map((host) => ({ host, port: port === "" ? standard : Number(port) }));
}

function listening(http: Server, config: Config): Promise<{ address: string; port: number }> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(config.port, config.host, () => {
      http.removeListener("error", reject);
      const address = http.address();
      if (typeof address === "object" && address) resolve(address);
    });
  });
}
