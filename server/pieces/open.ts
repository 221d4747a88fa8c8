/** Everything about pieces that a process holds: what is installed and offered, and the sandbox that runs it. */
import { join } from "node:path";
import type { Log } from "../../adapters/contract.ts";
import type { PieceHost } from "../../adapters/pieces/host.ts";
import type { SandboxLimits, SandboxPool } from "../../sandbox/contract.ts";
import { createPool } from "../../sandbox/pool.ts";
import type { LoadedConfig } from "../connections/files.ts";
import type { Activepieces } from "../connections/pieces-schema.ts";
import { releaseAgeMs } from "../connections/pieces-schema.ts";
import type { SharedState } from "../shared-state/contract.ts";
import { withFreePieces } from "./free.ts";
import { createPieceHosts, type PieceCaller } from "./host.ts";
import { installPiece, type Outcome, type Wanted } from "./install.ts";
import type { PieceVersion } from "./names.ts";
import { createOffers, type Offers } from "./offers.ts";
import { openPieceStore, type PieceStore } from "./store.ts";

export interface Pieces {
  readonly store: PieceStore;
  readonly offers: Offers;
  readonly pool: SandboxPool;
  /** The sandbox for one connection and one credential of it. */
  host(caller: PieceCaller): PieceHost;
  /** Adds the pieces that need no connection to what was read from the files. */
  withFree(loaded: LoadedConfig): LoadedConfig;
  /** @throws JackfieldError `piece_refused` */
  install(wanted: Wanted): Promise<Outcome>;
  remove(piece: PieceVersion): Promise<boolean>;
  /** Installs what is offered and not there, one after the other; what fails is logged. True where anything changed. */
  installMissing(): Promise<boolean>;
  close(): Promise<void>;
}

export interface PiecesOptions {
  dataDir: string;
  /** `activepieces` of `jackfield.yml`, as it was read last. */
  activepieces: () => Activepieces | undefined;
  shared: Pick<SharedState, "bus" | "locks">;
  /** The guarded way out, for the code of pieces. */
  fetch: typeof globalThis.fetch;
  /** Sent with each of its requests. */
  hop: { readonly header: string; readonly value: string };
  /** Of the process; npm gets what it needs of it. */
  env: Readonly<Record<string, string | undefined>>;
  limits?: Partial<SandboxLimits>;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export function openPieces(options: PiecesOptions): Pieces {
  const { dataDir, activepieces, shared, fetch, hop, env, limits, log, clock } = options;
  const store = openPieceStore(dataDir);
  const offers = createOffers(store, activepieces);
  const abort = new AbortController();
  const pool = createPool({
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set(hop.header, hop.value);
      return fetch(input, { ...init, headers });
    },
    log,
    clock,
    bundleDirectory: store.bundles,
    cacheDirectory: join(dataDir, "pieces", "cache"),
    ...(limits === undefined ? {} : { limits }),
  });

  const changed = async (): Promise<void> => {
    offers.reread();
    await shared.bus.publish("pieces", {});
  };
  const install = async (wanted: Wanted): Promise<Outcome> => {
    const parts = { store, pool, locks: shared.locks, env, clock, signal: abort.signal };
    const outcome = await installPiece(parts, wanted);
    if (outcome.installed) await changed();
    return outcome;
  };

  return {
    store,
    offers,
    pool,
    host: createPieceHosts(pool, store),
    withFree: (loaded) => withFreePieces(loaded, offers.free(loaded.jackfield.activepieces)),
    install,
    async remove(piece) {
      const removed = store.remove(piece);
      if (removed) await changed();
      return removed;
    },
    async installMissing() {
      let any = false;
      const minimumAgeMs = releaseAgeMs(activepieces() ?? {});
      for (const { name, version, integrity } of offers.missing()) {
        if (abort.signal.aborted) return any;
        try {
          const { installed } = await install({ name, version, integrity, minimumAgeMs });
          any ||= installed;
          log.info({ piece: name, version }, "a piece was installed");
        } catch (error) {
          if (abort.signal.aborted) return any;
          log.error({ piece: name, version, reason: reasonOf(error) }, "a piece was not installed");
        }
      }
      return any;
    },
    async close() {
      abort.abort();
      await pool.close();
    },
  };
}
