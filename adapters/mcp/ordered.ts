/**
 * Keeps an answer behind the notifications that came before it.
 *
 * The SDK's client handles a notification one microtask after it arrives, but an answer at once, and forgets the
 * request's progress handler with it: progress that arrives in one piece with the answer would be lost.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";

export type Receiver = (message: JSONRPCMessage) => void;

/** A receiver that hands answers on one microtask later, and everything else at once. */
export function ordered(receiver: Receiver, onerror: (error: Error) => void): Receiver {
  return (message) => {
    if ("method" in message) {
      receiver(message);
      return;
    }
    queueMicrotask(() => {
      try {
        receiver(message);
      } catch (error) {
        onerror(error instanceof Error ? error : new Error(String(error)));
      }
    });
  };
}
