/**
 * Which protocol an HTTP upstream speaks: asked once, remembered with its date.
 *
 * MCP 2026-07-28, "Versioning": `server/discover` first; 401, 403 and 5xx are no evidence for a legacy server (they
 * are errors before they get here); what is left falls back to `initialize`, and HTTP+SSE comes last. A legacy
 * verdict expires after a day, since an upgraded server goes on answering `initialize` and would never be noticed.
 */
import type { PriorDiscovery, Transport } from "@modelcontextprotocol/client";
import type { AdapterContext, JsonObject } from "../contract.ts";
import type { HttpConfig } from "./config.ts";
import { statusOf } from "./failures.ts";
import { connectionFetch } from "./fetch.ts";
import { EventTransport, StreamTransport } from "./http.ts";
import { HANDSHAKE_MS } from "./lane.ts";
import { type Listener, Peer } from "./peer.ts";

export type Wire = "stream" | "sse";

export interface Verdict {
  readonly era: "modern" | "legacy";
  readonly wire: Wire;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const LEGACY_VERDICT_MS = 24 * 60 * 60_000;

/** Reads the verdict of an earlier session; an expired legacy one is none. */
export async function remembered(context: AdapterContext): Promise<Verdict | undefined> {
  const memory = await context.memory.read();
  const era = memory?.["era"];
  const wire = memory?.["wire"];
  const at = memory?.["at"];
  if ((era !== "modern" && era !== "legacy") || (wire !== "stream" && wire !== "sse") || typeof at !== "number")
    return undefined;
  const age = context.clock() - at;
  if (era === "legacy" && (age >= LEGACY_VERDICT_MS || age < 0)) return undefined;
  return { era, wire, at };
}

/** Keeps what was learned; a legacy verdict keeps the date of its proof, not of its last use. */
export async function remember(context: AdapterContext, verdict: Omit<Verdict, "at">): Promise<void> {
  await context.memory.write({ era: verdict.era, wire: verdict.wire, at: context.clock() });
}

/** Connects once more over a known wire. */
export function connectOver(
  wire: Wire,
  options: {
    context: AdapterContext;
    config: HttpConfig;
    capabilities: JsonObject;
    listener: Listener;
    prior?: PriorDiscovery;
  },
): Promise<Peer> {
  const { context, config, capabilities, listener, prior } = options;
  return Peer.connect({
    context,
    transport: transportOf(wire, context, config),
    capabilities,
    listener,
    timeoutMs: HANDSHAKE_MS,
    ...(prior ? { prior } : {}),
  });
}

/** The first connection to an upstream. Throws what the SDK, the fetch or the network threw. */
export async function negotiate(options: {
  context: AdapterContext;
  config: HttpConfig;
  listener: Listener;
}): Promise<{ peer: Peer; wire: Wire }> {
  const { context } = options;
  const base = { ...options, capabilities: {} };
  const known = await remembered(context);
  if (known?.era === "legacy") {
    try {
      return { peer: await connectOver(known.wire, { ...base, prior: { kind: "legacy" } }), wire: known.wire };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      context.log.info({ connection: context.connection.slug }, "the upstream's protocol is no longer what it was");
    }
  }
  let refused: unknown;
  try {
    const peer = await connectOver("stream", base);
    await remember(context, { era: peer.modern ? "modern" : "legacy", wire: "stream" });
    return { peer, wire: "stream" };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    refused = error;
  }
  let peer: Peer;
  try {
    peer = await connectOver("sse", { ...base, prior: { kind: "legacy" } });
  } catch {
    // It is no HTTP+SSE server either; what it said to the current protocol tells more.
    throw refused;
  }
  await remember(context, { era: "legacy", wire: "sse" });
  return { peer, wire: "sse" };
}

/** Statuses with which a server says that this is not how it is spoken to. */
function isRefusal(error: unknown): boolean {
  const status = statusOf(error);
  return status === 400 || status === 404 || status === 405 || status === 406 || status === 415;
}

function transportOf(wire: Wire, context: AdapterContext, config: HttpConfig): Transport {
  // Egress follows redirects itself, checks every hop and drops credentials across origins.
  if (wire === "sse")
    return new EventTransport(config.url, {
      fetch: connectionFetch(context, config, { strict: true }),
      redirectPolicy: "follow",
    });
  return new StreamTransport(config.url, {
    fetch: connectionFetch(context, config),
    redirectPolicy: "follow",
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 10,
    },
  });
}
