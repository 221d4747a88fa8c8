import type { Bus, Payload } from "./contract.ts";

export interface Awaited<T> {
  /** Of the messages that may announce it. */
  readonly topic: string;
  /** Whether a message is about it; one without content always is: another may have been lost. */
  readonly concerns: (message: Payload) => boolean;
  /** What the store says: undefined while it is not there. */
  readonly look: () => Promise<T | undefined>;
  readonly signal: AbortSignal;
  /** Milliseconds after which nobody waits any longer. */
  readonly ms: number;
}

/** Waits for what a message announces and the store then says. Errors: those of the last look. */
export async function awaitArrival<T>(
  bus: Bus,
  { topic, concerns, look, signal, ms }: Awaited<T>,
): Promise<T | undefined> {
  const there = await look();
  if (there !== undefined) return there;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unsubscribe();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const unsubscribe = bus.subscribe(topic, (message) => {
      if (Object.keys(message).length > 0 && !concerns(message)) return;
      look().then((found) => {
        if (found !== undefined) end();
      }, end);
    });
    signal.addEventListener("abort", end, { once: true });
  });
  return look();
}
