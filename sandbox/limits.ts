/** The limits of the sandbox: what they are unless the operator says otherwise, and how far they may be moved. */
import { availableParallelism } from "node:os";
import type { SandboxLimits } from "./contract.ts";

type NumericLimit = {
  [Key in keyof SandboxLimits]: SandboxLimits[Key] extends number ? Key : never;
}[keyof SandboxLimits];

const MIB = 1024 * 1024;

/** Default, least and most of each. The table of `docs/sandbox.md` says the same. */
export const LIMITS: Readonly<Record<NumericLimit, readonly [standard: number, least: number, most: number]>> = {
  workers: [Math.max(4, Math.min(16, 2 * availableParallelism())), 1, 256],
  spareWorkers: [1, 0, 16],
  callsPerWorker: [4, 1, 32],
  isolatesPerWorker: [8, 1, 64],
  recycleAfterCalls: [500, 1, 1_000_000],
  queue: [256, 0, 100_000],
  idleIsolateMs: [60_000, 1, 3_600_000],
  idleWorkerMs: [300_000, 1, 86_400_000],
  isolateMemoryMb: [128, 16, 4096],
  workerMemoryMb: [512, 128, 32_768],
  syncMs: [5000, 10, 600_000],
  callMs: [30_000, 10, 3_600_000],
  optionsMs: [15_000, 10, 600_000],
  loadMs: [10_000, 100, 600_000],
  graceMs: [2000, 10, 60_000],
  resultBytes: [MIB, 1024, 64 * MIB],
  descriptionBytes: [8 * MIB, 1024, 64 * MIB],
  fileBytes: [25 * MIB, 0, 256 * MIB],
  requestBodyBytes: [10 * MIB, 0, 256 * MIB],
  responseBodyBytes: [10 * MIB, 0, 256 * MIB],
  requestsPerCall: [50, 0, 100_000],
  logBytes: [64 * 1024, 0, 16 * MIB],
  timers: [1000, 1, 100_000],
};

/** All limits. @throws RangeError that names the one which is out of bounds */
export function resolveLimits(given: Partial<SandboxLimits> = {}): SandboxLimits {
  const numbers = Object.fromEntries(Object.entries(LIMITS).map(([name, [standard]]) => [name, standard]));
  const limits = { ...(numbers as Record<NumericLimit, number>), processPerCall: false, ...given };
  for (const [name, [, least, most]] of Object.entries(LIMITS)) {
    const value = limits[name as NumericLimit];
    if (!Number.isInteger(value) || value < least || value > most) {
      throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
    }
  }
  // A call holds an isolate.
  return { ...limits, isolatesPerWorker: Math.max(limits.isolatesPerWorker, limits.callsPerWorker) };
}
