/** What a test, or the command line, decides about the product as a whole. */
import type { Log } from "../../adapters/contract.ts";
import type { Config } from "../config.ts";
import type { Resolver } from "../egress/agent.ts";
import type { Gateway } from "../gateway/call.ts";

export interface AppOptions {
  readonly config: Config;
  readonly log?: Log;
  /** Milliseconds since the epoch; tests move it. */
  readonly clock?: () => number;
  /** Names to addresses; tests decide it. */
  readonly resolver?: Resolver;
  /** A certificate (PEM) that is trusted beside those that Node trusts; tests make one. */
  readonly trust?: string;
  /** Milliseconds of silence, and in all, that a call may last. */
  readonly timeouts?: Gateway["timeouts"];
  /** Milliseconds a parked question waits for its answer. */
  readonly parkedMs?: number;
  /** Milliseconds a call waits for its approval, where its client can wait. */
  readonly approvalWaitMs?: number;
  /** What fetches the metadata documents of clients; by default guarded, and public addresses only. */
  readonly fetchDocument?: typeof globalThis.fetch;
}
