/** The adapter for MCP upstreams: Streamable HTTP in both eras, HTTP+SSE, stdio. */
import type { Adapter, AdapterContext, AdapterSession, Change } from "../contract.ts";
import { redeemPacket } from "../pairing/redeem.ts";
import { configSchema, type HttpConfig, readConfig } from "./config.ts";
import { failureOf } from "./failures.ts";
import type { Emit, Lane } from "./lane.ts";
import { LegacySessions } from "./legacy-sessions.ts";
import { ModernLane } from "./modern.ts";
import { connectOver, negotiate } from "./negotiate.ts";
import type { Notification } from "./peer.ts";
import { McpSession } from "./session.ts";
import { StdioLane } from "./stdio.ts";

export const mcpAdapter: Adapter = {
  type: "mcp",
  configSchema,

  /** MCP arguments go over the wire as they are. */
  prepare: (_tool, args) => ({ args }),

  /** Over HTTP by the common protocol; a process has no origin that a claim could go to. */
  async redeemPairingCode(packet, context) {
    const config = readConfig(context.config);
    if (config.kind === "http") return redeemPacket(packet, config.url, context);
    return { kind: "wrong", reason: "A connection that is a process on this machine cannot be paired." };
  },

  /** Connects and says hello. Throws `UpstreamError` or `UpstreamRpcError`. */
  async open(context: AdapterContext): Promise<AdapterSession> {
    const config = readConfig(context.config);
    const listeners = new Set<(change: Change) => void>();
    const emit: Emit = (change) => {
      for (const listener of listeners) listener(change);
    };
    try {
      context.signal.throwIfAborted();
      const lane =
        config.kind === "stdio" ? await StdioLane.open(context, config, emit) : await openHttp(context, config, emit);
      const session = new McpSession({ context, lane, listeners, overHttp: config.kind === "http" });
      const end = () => {
        session.close().catch((error: unknown) => context.log.debug({ error }, "closing failed"));
      };
      context.signal.addEventListener("abort", end, { once: true });
      return session;
    } catch (error) {
      throw failureOf(error);
    }
  },
};

async function openHttp(context: AdapterContext, config: HttpConfig, emit: Emit): Promise<Lane> {
  // The first conversation exists before the lane that listens to it; what it hears meanwhile is kept.
  let hear: ((notification: Notification) => void) | undefined;
  const early: Notification[] = [];
  const { peer, wire } = await negotiate({
    context,
    config,
    listener: (_peer, notification) => (hear ? hear(notification) : early.push(notification)),
  });
  const { log } = context;
  log.debug({ protocol: peer.introduction().protocol, wire }, "connected");
  let lane: Lane;
  if (peer.modern) {
    const modern = new ModernLane({
      context,
      first: peer,
      connect: (listener, prior) =>
        connectOver(wire, { context, config, capabilities: {}, listener, ...(prior ? { prior } : {}) }),
      emit,
    });
    hear = (notification) => modern.heard(notification);
    lane = modern;
  } else {
    const legacy = new LegacySessions({
      context,
      first: peer,
      connect: (capabilities, listener) =>
        connectOver(wire, { context, config, capabilities, listener, prior: { kind: "legacy" } }),
      emit,
    });
    hear = (notification) => legacy.heard("", notification);
    lane = legacy;
  }
  for (const notification of early) hear(notification);
  return lane;
}
