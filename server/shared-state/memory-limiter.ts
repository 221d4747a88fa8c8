import type { Limiter } from "./contract.ts";

const SWEEP_AT = 10_000;

/** Rate limits of this process. */
export function createMemoryLimiter(clock: () => number): Limiter {
  const windows = new Map<string, { used: number; endsAt: number }>();

  function sweep(now: number): void {
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key);
  }

  return {
    async consume(key, { points, perMs }) {
      const now = clock();
      let window = windows.get(key);
      if (window === undefined || window.endsAt <= now) {
        if (windows.size >= SWEEP_AT) sweep(now);
        window = { used: 0, endsAt: now + perMs };
        windows.set(key, window);
      }
      window.used += 1;
      const allowed = window.used <= points;
      const remaining = Math.max(0, points - window.used);
      return { allowed, remaining, retryAfterMs: allowed ? 0 : window.endsAt - now };
    },
    async refund(key) {
      const window = windows.get(key);
      if (window !== undefined && window.used > 0) window.used -= 1;
    },
  };
}
