/** The fetch that redeems a packet: to one origin, after the packet was claimed, without redirects, small and quick. */
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { UpstreamError } from "../../adapters/contract.ts";
import { readAll } from "../egress/body.ts";

/** Milliseconds for the whole exchange. */
const TOTAL_MS = 10_000;
/** Bytes of the answer. */
const MAX_BYTES = 64 * 1024;

export interface PairingFetchOptions {
  /** The guarded way out. */
  readonly fetch: typeof globalThis.fetch;
  /** The connection's configured origin: nothing else is reached. */
  readonly origin: string;
  /** Whether the packet is claimed. */
  readonly claimed: () => boolean;
  readonly totalMs?: number;
}

/** Makes the fetch of one redemption. It rejects as the guarded one does, and with UpstreamError `blocked_address`. */
export function pairingFetch(options: PairingFetchOptions): typeof globalThis.fetch {
  const { fetch, origin, claimed, totalMs = TOTAL_MS } = options;
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    if (url.origin !== origin || !claimed()) {
      throw new UpstreamError("blocked_address", "A packet goes to its connection's own address only.", {
        processed: "no",
        detail: claimed() ? `to ${url.origin} instead of ${origin}` : "the packet was not claimed",
      });
    }
    const response = await fetch(input, { ...init, redirect: "manual", signal: AbortSignal.timeout(totalMs) });
    if (response.body === null) return response;
    const body = await readAll(Readable.fromWeb(response.body as ReadableStream), MAX_BYTES);
    return new Response(body, { status: response.status, headers: response.headers });
  };
}
