/** How often strangers may ask the authorization server for something. */
import type { Limit, Limiter } from "../shared-state/contract.ts";

const MINUTE = 60_000;

const LIMITS = {
  /** Registrations from one network. */
  register: { points: 20, perMs: 60 * MINUTE },
  /** Registrations from anywhere. */
  registerAll: { points: 1_000, perMs: 60 * MINUTE },
  authorize: { points: 100, perMs: 15 * MINUTE },
  /** Token requests of one client. */
  token: { points: 300, perMs: 15 * MINUTE },
  /** Token requests from one network: many people sit behind some. */
  tokenAddress: { points: 3_000, perMs: 15 * MINUTE },
  /** Documents of clients fetched for one network. */
  document: { points: 30, perMs: MINUTE },
} as const satisfies Record<string, Limit>;

export type Limited = keyof typeof LIMITS;

export interface RequestLimits {
  /** Takes one; answers with the milliseconds to wait where there is none left, else with 0. */
  take(what: Limited, by: string): Promise<number>;
}

export function createRequestLimits(limiter: Limiter): RequestLimits {
  return {
    async take(what, by) {
      const { allowed, retryAfterMs } = await limiter.consume(`oauth:${what}:${by}`, LIMITS[what]);
      return allowed ? 0 : Math.max(1, retryAfterMs);
    },
  };
}
