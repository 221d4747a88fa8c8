/** How calls reach their upstream: which conversation carries which call, and what is kept between calls. */
import type { CallContext, Caller, Change, Introduction } from "../contract.ts";
import type { Notification, Peer } from "./peer.ts";

export interface Lane {
  introduction(): Introduction;
  /** For what the proxy itself wants: lists, checks, subscriptions to changes. Reconnects where needed. */
  own<T>(work: (peer: Peer) => Promise<T>): Promise<T>;
  /**
   * Runs one call on a conversation that fits its caller. `work` may run twice, the second time only where the
   * upstream proved that it did not process the first.
   */
  call<T>(call: CallContext, work: (peer: Peer) => Promise<T>): Promise<T>;
  subscribe(uri: string, caller: Caller): Promise<void>;
  unsubscribe(uri: string, caller: Caller): Promise<void>;
  setLogLevel(level: string, caller: Caller): Promise<void>;
  forget(callerKey: string): Promise<void>;
  close(): Promise<void>;
}

export type Emit = (change: Change) => void;

/** Milliseconds for a handshake, and for one request of our own. */
export const HANDSHAKE_MS = 30_000;
export const OWN_REQUEST_MS = 30_000;

/** The change a notification about lists tells, if it is one. */
export function listChange(notification: Notification): Change | undefined {
  switch (notification.method) {
    case "notifications/tools/list_changed":
      return { kind: "tools" };
    case "notifications/resources/list_changed":
      return { kind: "resources" };
    case "notifications/prompts/list_changed":
      return { kind: "prompts" };
    default:
      return undefined;
  }
}

/** Waits for a connection on behalf of a call, no longer than the call may last. The connection itself goes on. */
export async function within<T>(call: CallContext, connecting: Promise<T>): Promise<T> {
  call.signal.throwIfAborted();
  let stop: (() => void) | undefined;
  const cancelled = new Promise<never>((_resolve, reject) => {
    stop = () => reject(call.signal.reason);
    call.signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([connecting, cancelled]);
  } finally {
    if (stop) call.signal.removeEventListener("abort", stop);
  }
}
