/**
 * Resource subscriptions of listen streams (MCP 2026-07-28, `resourceSubscriptions`), held upstream for as long as a
 * stream of their holder is open. All streams of one holder share one subscription upstream, so that an update is
 * told once.
 */
import type { GatewayCaller } from "../../gateway/caller.ts";
import type { Face } from "../face.ts";
import { findResource } from "../methods/resources.ts";
import type { Place } from "../notifier.ts";

export interface Subscriptions {
  /** Subscribes upstream, and resolves with what ends it. Waits for the upstream; its failures are logged. */
  hold(caller: GatewayCaller, uris: readonly string[]): Promise<() => Promise<void>>;
}

interface Held {
  streams: number;
  subscribed: boolean;
  /** Changes of one subscription happen one after another. */
  turn: Promise<void>;
}

const PREFIX = "listen";

/** The key under which an upstream knows the streams of one holder. */
export function listenerKey({ endpointId, holderKey }: Place): string {
  return `${PREFIX}:${endpointId}:${holderKey}`;
}

/** Whose streams a key stands for; undefined for any other caller's. */
export function listenerOf(callerKey: string): Place | undefined {
  const [prefix, endpointId, holderKey] = callerKey.split(":");
  return prefix === PREFIX && endpointId && holderKey ? { endpointId, holderKey } : undefined;
}

/** Keeps the subscriptions of this process. */
export function createSubscriptions(face: Face): Subscriptions {
  const all = new Map<string, Held>();

  function change(caller: GatewayCaller, uri: string, by: 1 | -1): Promise<void> {
    const { connection, own } = findResource(caller.toolset, uri);
    const holder = {
      key: listenerKey({ endpointId: caller.endpoint.id, holderKey: caller.holderKey }),
      capabilities: {},
    };
    const key = `${holder.key}|${connection.id}|${own}`;
    const held = all.get(key) ?? { streams: 0, subscribed: false, turn: Promise.resolve() };
    all.set(key, held);
    held.streams += by;
    held.turn = held.turn.then(async () => {
      const wanted = held.streams > 0;
      if (wanted === held.subscribed) return;
      const work = wanted ? "subscribe" : "unsubscribe";
      try {
        await face.gateway.sessions.use(connection, caller.principal.key, async (upstream) =>
          upstream[work]?.(own, holder),
        );
        held.subscribed = wanted;
      } catch (error) {
        held.subscribed = false;
        face.log.warn({ connection: connection.slug, reason: String(error) }, `could not ${work} upstream`);
      }
      if (held.streams === 0 && all.get(key) === held) all.delete(key);
    });
    return held.turn;
  }

  return {
    async hold(caller, uris) {
      const wanted = [...new Set(uris)];
      // All are looked up first: one that the caller cannot see refuses the stream.
      for (const uri of wanted) findResource(caller.toolset, uri);
      await Promise.all(wanted.map((uri) => change(caller, uri, 1)));
      return async () => {
        await Promise.all(wanted.map((uri) => change(caller, uri, -1)));
      };
    },
  };
}
