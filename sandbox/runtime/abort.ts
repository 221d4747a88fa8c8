/** `AbortController` and `AbortSignal` (DOM standard) on the package's EventTarget. */
import { Event, EventTarget } from "event-target-shim";
import { setTimeout } from "./timers.ts";

export class AbortSignal extends EventTarget {
  aborted = false;
  reason: unknown = undefined;
  onabort: ((event: Event) => void) | null = null;

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  static abort(reason?: unknown): AbortSignal {
    const controller = new AbortController();
    controller.abort(reason);
    return controller.signal;
  }

  static timeout(milliseconds: number): AbortSignal {
    const controller = new AbortController();
    setTimeout(() => {
      controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    }, milliseconds);
    return controller.signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const controller = new AbortController();
    for (const signal of signals) {
      if (signal.aborted) {
        controller.abort(signal.reason);
        break;
      }
      signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
    }
    return controller.signal;
  }

  get [Symbol.toStringTag](): string {
    return "AbortSignal";
  }
}

export class AbortController {
  readonly signal = new AbortSignal();

  abort(reason?: unknown): void {
    const { signal } = this;
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
    const event = new Event("abort");
    signal.onabort?.(event);
    signal.dispatchEvent(event);
  }

  get [Symbol.toStringTag](): string {
    return "AbortController";
  }
}

/**
 * Settles with `work`, or rejects with the signal's reason as soon as it is aborted.
 * @param signal anything with the shape of an AbortSignal: pieces bring polyfills of their own
 */
export function abortable<T>(work: Promise<T>, signal: SignalLike | null | undefined): Promise<T> {
  if (signal === null || signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason ?? new DOMException("This operation was aborted", "AbortError"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    work.then(resolve, reject).finally(() => signal.removeEventListener?.("abort", stop));
  });
}

export interface SignalLike {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener?(type: "abort", listener: () => void): void;
}
