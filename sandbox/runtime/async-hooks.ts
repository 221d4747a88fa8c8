/**
 * `node:async_hooks`: an AsyncLocalStorage that holds its value until what runs in it is settled. One call runs
 * in an isolate at a time, so what libraries keep in it stays right as long as they set it themselves.
 */

type Work = (...args: unknown[]) => unknown;

export class AsyncLocalStorage {
  #store: unknown;

  run(store: unknown, work: Work, ...args: unknown[]): unknown {
    const before = this.#store;
    this.#store = store;
    let result: unknown;
    try {
      result = work(...args);
    } catch (error) {
      this.#store = before;
      throw error;
    }
    // What continues after an await still finds the value.
    if (result instanceof Promise) return result.finally(() => this.enterWith(before));
    this.#store = before;
    return result;
  }

  getStore(): unknown {
    return this.#store;
  }

  enterWith(store: unknown): void {
    this.#store = store;
  }

  exit(work: Work, ...args: unknown[]): unknown {
    return this.run(undefined, work, ...args);
  }

  disable(): void {
    this.#store = undefined;
  }

  static bind(work: Work): Work {
    return work;
  }

  static snapshot(): (work: Work, ...args: unknown[]) => unknown {
    return (work, ...args) => work(...args);
  }
}

export class AsyncResource {
  readonly type: string;

  constructor(type: string) {
    this.type = type;
  }

  runInAsyncScope(work: Work, self: unknown, ...args: unknown[]): unknown {
    return Reflect.apply(work, self, args);
  }

  emitDestroy(): this {
    return this;
  }

  asyncId(): number {
    return 1;
  }

  triggerAsyncId(): number {
    return 0;
  }

  bind(work: Work): Work {
    return work;
  }

  static bind(work: Work): Work {
    return work;
  }
}

const nothing = (): void => undefined;

export const asyncHooks = {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => ({ enable: nothing, disable: nothing }),
  executionAsyncId: () => 1,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
};
