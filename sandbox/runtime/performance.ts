/** The global `performance` and `node:perf_hooks`: a clock since the isolate began, and measurements that go nowhere. */

let start: number | undefined;

/** Milliseconds since the first question: what is computed while the runtime is built would be the same for ever. */
function now(): number {
  start ??= Date.now();
  return Date.now() - start;
}

const nothing = (): void => undefined;

export const performance = {
  now,
  get timeOrigin(): number {
    return Date.now() - now();
  },
  mark: nothing,
  measure: nothing,
  clearMarks: nothing,
  clearMeasures: nothing,
  getEntries: () => [],
  getEntriesByName: () => [],
  getEntriesByType: () => [],
  timerify: <T>(callback: T): T => callback,
  toJSON: () => ({}),
};

export const perfHooks = {
  performance,
  PerformanceObserver: class PerformanceObserver {
    observe = nothing;
    disconnect = nothing;
  },
  constants: {},
  monitorEventLoopDelay: () => ({ enable: nothing, disable: nothing }),
};
