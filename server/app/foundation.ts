/** What every other part stands on: keys, store, shared state, the way out, tokens, the audit. */
import { type Config, publicOrigin } from "../config.ts";
import { createEgress } from "../egress/fetch.ts";
import type { Closed } from "../egress/policy.ts";
import { HOP_HEADER } from "../mcp/hops.ts";
import { createAudit } from "../observe/audit.ts";
import { createLog } from "../observe/log.ts";
import { createAgentTokens } from "../people/agent-tokens.ts";
import { openSharedState } from "../shared-state/open.ts";
import { openStore } from "../store/database.ts";
import { instanceIdOf } from "../store/instance.ts";
import { migrate } from "../store/migrate.ts";
import { openKeyring } from "../vault/keyring.ts";
import { VERSION } from "../version.ts";
import type { AppOptions } from "./options.ts";

export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

/** @throws JackfieldError with one clear line where something cannot be opened */
export async function openFoundation(options: AppOptions) {
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
  return {
    ...{ config, log, clock, keyring, store, shared, instanceId, tokens, audit, egress },
    /** What MCP calls an implementation: how we introduce ourselves, to clients and to services. */
    identity: { name: "jackfield", title: "Jackfield", version: VERSION },
    /** The header that shows a call which comes back to us. */
    hop: { header: HOP_HEADER, value: instanceId },
    /** Origin under which people and clients reach us; the port is known once we listen. */
    publicUrl: () => ownOrigin(config, listeners),
    allowsLoopback: config.allowPrivateUpstreams.some(([base]) => base.range() === "loopback"),
    /** Closes what we listen at to our own connections. */
    listensAt(host: string, port: number): void {
      listeners.push({ host, port, own: true });
    },
  };
}

function ownOrigin(config: Config, listeners: readonly Closed[]): string {
  return publicOrigin(config, listeners.find(({ own }) => own)?.port ?? config.port);
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
