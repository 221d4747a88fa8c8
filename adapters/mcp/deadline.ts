/** The time a call has: silence is bounded, the whole is bounded, and the caller may end it. */
import { type CallContext, UpstreamError } from "../contract.ts";

export interface Deadline {
  /** Aborts when the call must end. */
  readonly signal: AbortSignal;
  /** Something arrived: silence starts anew. */
  touch(): void;
  /** Silence is expected: a person has been asked. The maximum goes on. */
  pause(): void;
  resume(): void;
  /** What the call ends with: an `UpstreamError`, or the caller's own reason. Undefined while it may go on. */
  reason(): unknown;
  end(): void;
}

/** setTimeout takes no more. */
const MAX_TIMER = 0x7fffffff;

/** Starts both clocks of a call. `end` must be called. */
export function startDeadline(call: CallContext): Deadline {
  const abort = new AbortController();
  let reason: unknown;
  let paused = 0;
  const stop = (why: unknown) => {
    if (abort.signal.aborted) return;
    reason = why;
    abort.abort(why);
  };
  const cancelled = () => stop(call.signal.reason);
  const silence = () => setTimeout(() => stop(tooLong(call.timeoutMs)), Math.min(call.timeoutMs, MAX_TIMER));
  const total = setTimeout(() => stop(tooLong(call.maxTimeoutMs)), Math.min(call.maxTimeoutMs, MAX_TIMER));
  let quiet = silence();
  if (call.signal.aborted) cancelled();
  else call.signal.addEventListener("abort", cancelled, { once: true });
  const restart = () => {
    clearTimeout(quiet);
    if (paused === 0 && !abort.signal.aborted) quiet = silence();
  };
  return {
    signal: abort.signal,
    touch: restart,
    pause() {
      paused += 1;
      clearTimeout(quiet);
    },
    resume() {
      paused -= 1;
      restart();
    },
    reason: () => reason,
    end() {
      clearTimeout(quiet);
      clearTimeout(total);
      call.signal.removeEventListener("abort", cancelled);
      // Nothing restarts the clock of a call that is over.
      paused = Number.POSITIVE_INFINITY;
    },
  };
}

function tooLong(ms: number): UpstreamError {
  const time = ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
  return new UpstreamError("upstream_timeout", `The service did not answer within ${time}.`);
}
