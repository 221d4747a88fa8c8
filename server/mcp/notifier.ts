/**
 * Who is told that something changed: the open GET streams of legacy sessions and the open `subscriptions/listen`
 * streams of modern callers. An event reaches only the streams of the caller it concerns.
 */
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../adapters/contract.ts";

/** A stream's place: one endpoint, and the holder (principal with one grant or token). */
export interface Place {
  readonly endpointId: string;
  readonly holderKey: string;
}

/** A legacy session as the notifier sees it. */
export interface SessionStream {
  readonly place: Place;
  readonly principalKey: string;
  readonly streaming: () => boolean;
  /** Sends on the GET stream. */
  readonly send: (method: string, params?: JsonObject) => void;
}

export type ListKind = "tools" | "prompts" | "resources";

export interface Notifier {
  /** The event source of one holder's listen streams; give it to the SDK's handler. */
  busFor(place: Place, principalKey: string): ServerEventBus;
  addSession(stream: SessionStream): () => void;
  /** Tells one holder's streams, or everyone at the endpoint. Returns how many streams were open. */
  listChanged(kind: ListKind, endpointId: string, holderKey?: string): number;
  /** Tells every stream of one principal, at whatever endpoint and with whatever token. */
  principalChanged(kind: ListKind, principalKey: string): void;
  /** Tells the listen streams of one holder, or everyone's at the endpoint. */
  resourceUpdated(uri: string, place: Pick<Place, "endpointId"> & Partial<Place>, params?: JsonObject): void;
  /** Whether this holder has a listen stream or a GET stream open. */
  hasStream(place: Place): boolean;
  /** Listen streams open in this process. */
  readonly listenCount: number;
}

const EVENTS = {
  tools: "tools_list_changed",
  prompts: "prompts_list_changed",
  resources: "resources_list_changed",
} as const;

/** Makes the notifier of this process. */
export function createNotifier(): Notifier {
  const listeners = new Map<string, Map<string, Set<(event: ServerEvent) => void>>>();
  const sessions = new Set<SessionStream>();
  /** Whose listen streams a holder's are. */
  const principals = new Map<string, string>();
  let listenCount = 0;

  function publish(event: ServerEvent, endpointId: string, holderKey?: string): number {
    const holders = listeners.get(endpointId);
    if (!holders) return 0;
    let reached = 0;
    for (const [key, set] of holders) {
      if (holderKey !== undefined && key !== holderKey) continue;
      for (const listener of set) {
        listener(event);
        reached += 1;
      }
    }
    return reached;
  }

  return {
    busFor: ({ endpointId, holderKey }, principalKey) => ({
      publish: (event) => void publish(event, endpointId, holderKey),
      subscribe(listener) {
        const holders = listeners.get(endpointId) ?? new Map<string, Set<(event: ServerEvent) => void>>();
        listeners.set(endpointId, holders);
        const set = holders.get(holderKey) ?? new Set();
        holders.set(holderKey, set);
        set.add(listener);
        principals.set(holderKey, principalKey);
        listenCount += 1;
        return () => {
          if (!set.delete(listener)) return;
          listenCount -= 1;
          if (set.size > 0) return;
          holders.delete(holderKey);
          if (holders.size === 0) listeners.delete(endpointId);
          if (![...listeners.values()].some((others) => others.has(holderKey))) principals.delete(holderKey);
        };
      },
    }),
    addSession(stream) {
      sessions.add(stream);
      return () => sessions.delete(stream);
    },
    listChanged(kind, endpointId, holderKey) {
      let reached = publish({ kind: EVENTS[kind] }, endpointId, holderKey);
      for (const session of sessions) {
        if (session.place.endpointId !== endpointId || !session.streaming()) continue;
        if (holderKey !== undefined && session.place.holderKey !== holderKey) continue;
        session.send(`notifications/${kind}/list_changed`);
        reached += 1;
      }
      return reached;
    },
    principalChanged(kind, principalKey) {
      for (const [holderKey, owner] of principals) {
        if (owner !== principalKey) continue;
        for (const endpointId of listeners.keys()) publish({ kind: EVENTS[kind] }, endpointId, holderKey);
      }
      for (const session of sessions) {
        if (session.principalKey === principalKey && session.streaming())
          session.send(`notifications/${kind}/list_changed`);
      }
    },
    resourceUpdated(uri, { endpointId, holderKey }, params) {
      publish({ kind: "resource_updated", uri, ...(params ? { params } : {}) }, endpointId, holderKey);
    },
    hasStream({ endpointId, holderKey }) {
      if ((listeners.get(endpointId)?.get(holderKey)?.size ?? 0) > 0) return true;
      for (const session of sessions) {
        if (session.place.endpointId === endpointId && session.place.holderKey === holderKey && session.streaming())
          return true;
      }
      return false;
    },
    get listenCount() {
      return listenCount;
    },
  };
}
