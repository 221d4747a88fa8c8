/** `node:diagnostics_channel`: channels that nobody listens to. */

type Work = (...args: unknown[]) => unknown;

const nothing = (): void => undefined;

function channel(name: string | symbol) {
  return {
    name,
    hasSubscribers: false,
    publish: nothing,
    subscribe: nothing,
    unsubscribe: () => false,
    bindStore: nothing,
    unbindStore: () => false,
    runStores: (_context: unknown, work: Work, self?: unknown, ...args: unknown[]) => Reflect.apply(work, self, args),
  };
}

export const diagnosticsChannel = {
  channel,
  hasSubscribers: () => false,
  subscribe: nothing,
  unsubscribe: () => false,
  Channel: class Channel {},
  tracingChannel: (name: string) => ({
    start: channel(name),
    end: channel(name),
    asyncStart: channel(name),
    asyncEnd: channel(name),
    error: channel(name),
    hasSubscribers: false,
    traceSync: (work: Work, _context: unknown, self?: unknown, ...args: unknown[]) => Reflect.apply(work, self, args),
    tracePromise: (work: Work, _context: unknown, self?: unknown, ...args: unknown[]) =>
      Reflect.apply(work, self, args),
  }),
};
