/**
 * Keeps the stored catalogues of connections fresh. Nobody who calls waits for it: lists and search answer from what
 * is stored, whatever an upstream does.
 */
import { setImmediate } from "node:timers/promises";
import {
  type AdapterSession,
  type CatalogueItem,
  type Log,
  UpstreamError,
  UpstreamRpcError,
} from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Bus, Locks } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import {
  type ListedCatalogue,
  type StoredChange,
  storeCatalogue,
  storeLoadError,
  storeUntested,
} from "./catalogue-store.ts";
import type { Registry } from "./registry.ts";
import type { ConnectionSessions } from "./sessions.ts";
import type { ServedConnection } from "./types.ts";

const REFRESH_EVERY_MS = 15 * 60_000;
const RETRY_FAILED_MS = 60_000;
/** A service that changes its lists all the time is read at most this often. */
const QUIET_MS = 1000;
const LOCK_MS = 120_000;
/** Connections read at the same time. */
const PARALLEL = 4;
/** JSON-RPC "Method not found": the service has no such list. */
const METHOD_NOT_FOUND = -32601;

export type RefreshResult = ({ ok: true } & StoredChange) | { ok: false; code: string; message: string };

export interface Catalogue {
  /** Reads the catalogue of a connection now and stores it, or why it could not be read. Never rejects for the upstream. */
  refresh(connection: ServedConnection): Promise<RefreshResult>;
  /**
   * Starts keeping all served connections fresh.
   * @returns resolves when each connection that is served now was read once, or could not be, and that is served
   */
  start(): Promise<void>;
  /** Resolves when nothing that is due now is left to be read. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** Whose session a connection is read with; undefined where nobody has signed in to it. */
export type ReaderOf = (connection: ServedConnection) => Promise<{ principalKey: string | undefined } | undefined>;

export interface CatalogueOptions {
  store: Store;
  bus: Bus;
  /** Where given, one process at a time reads a connection in the background. */
  locks?: Locks;
  registry: Registry;
  sessions: ConnectionSessions;
  /** Absent: connections that one signs in to are not read. */
  readerOf?: ReaderOf;
  log: Log;
  /** Milliseconds since the epoch. */
  clock?: () => number;
  /** Milliseconds between two readings of a connection, by whichever process. */
  everyMs?: number;
}

export function createCatalogue(options: CatalogueOptions): Catalogue {
  const { store, bus, locks, registry, sessions, readerOf, log } = options;
  const { clock = Date.now, everyMs = REFRESH_EVERY_MS } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  const waiting: string[] = [];
  const reading = new Map<string, Promise<unknown>>();
  /** Connections that are read for a reason of their own, not only because it is time again. */
  const wanted = new Set<string>();
  /** Connections whose timer runs out at once. */
  const soon = new Set<string>();
  /** How each connection was configured when it was last planned. */
  const seen = new Map<string, string>();
  /** Called when a connection that was served at the start has been read, or is gone. */
  const firstTime = new Map<string, () => void>();
  const stops: (() => void)[] = [];
  let closed = false;

  const refresh = async (connection: ServedConnection): Promise<RefreshResult> => {
    const now = () => new Date(clock());
    let result: RefreshResult;
    let changed: boolean;
    try {
      const reader = await readerOf?.(connection);
      const catalogue = await sessions.use(connection, reader?.principalKey, readCatalogue);
      const stored = await storeCatalogue(store, connection, catalogue, now());
      changed = stored.changed;
      result = { ok: true, ...stored };
    } catch (error) {
      const failure = failureOf(error);
      if (failure === undefined) throw error;
      // What fails because we stop says nothing about the service.
      if (closed) return { ok: false, ...failure };
      log.warn({ connection: connection.slug, ...failure }, "the tools of a connection could not be loaded");
      changed = await storeLoadError(store, connection.id, failure, now());
      result = { ok: false, ...failure };
    }
    if (changed) await bus.publish("catalogue", { connectionId: connection.id });
    return result;
  };

  /** @param routine whether it may be left out where another process has just done it */
  const plan = (id: string, inMs: number, routine = false): void => {
    if (closed) return;
    clearTimeout(timers.get(id));
    if (!routine) wanted.add(id);
    if (inMs === 0) soon.add(id);
    else soon.delete(id);
    const timer = setTimeout(() => {
      timers.delete(id);
      soon.delete(id);
      if (!waiting.includes(id)) waiting.push(id);
      pump();
    }, inMs);
    timer.unref();
    timers.set(id, timer);
  };

  const pump = (): void => {
    while (!closed && reading.size < PARALLEL) {
      const index = waiting.findIndex((id) => !reading.has(id));
      if (index === -1) return;
      const [id = ""] = waiting.splice(index, 1);
      const work = inBackground(id).finally(() => {
        reading.delete(id);
        firstTime.get(id)?.();
        firstTime.delete(id);
        pump();
      });
      reading.set(id, work);
    }
  };

  /** One process at a time; where another one is at it, or was a moment ago, its result arrives over the bus. */
  const inBackground = async (id: string): Promise<void> => {
    const connection = registry.connection(id);
    const routine = !wanted.delete(id);
    if (connection === undefined) return;
    let next = everyMs;
    try {
      if (!(await canBeLoaded(connection, readerOf))) {
        await storeUntested(store, id);
        return;
      }
      const release = locks && (await locks.acquire(`catalogue:${id}`, { ttlMs: LOCK_MS, waitMs: 0 }));
      if (locks === undefined || release !== undefined) {
        try {
          const early = routine ? await earlyBy(id, everyMs) : 0;
          if (early > 0) next = early;
          else if (!(await refresh(connection)).ok) next = Math.min(RETRY_FAILED_MS, everyMs);
        } finally {
          await release?.();
        }
      }
    } catch (error) {
      next = RETRY_FAILED_MS;
      if (!closed) log.error({ connection: connection.slug, reason: String(error) }, "a catalogue could not be stored");
    }
    // Up to a fifth later, so that connections and replicas spread out.
    if (!timers.has(id)) plan(id, next * (1 + Math.random() / 5), true);
  };

  /** Milliseconds until it is time for the next routine reading, whichever process did the last one. */
  const earlyBy = async (connectionId: string, afterMs: number): Promise<number> => {
    const state = await store.models.connectionStates.findByPk(connectionId);
    const due = state?.loadErrorCode == null ? afterMs : Math.min(RETRY_FAILED_MS, afterMs);
    return state?.checkedAt == null ? 0 : state.checkedAt.getTime() + due - clock();
  };

  /** Connections that are new, or configured differently, are read at once. */
  const follow = (): void => {
    const served = registry.connections();
    sessions.retain([...served, ...registry.drafted()]);
    for (const connection of served) {
      const { config, auth, credential, credentialRevision, access, review } = connection;
      const configured = JSON.stringify([config, auth, credential, credentialRevision, access, review]);
      if (seen.get(connection.id) === configured) continue;
      seen.set(connection.id, configured);
      plan(connection.id, 0);
    }
    const ids = new Set(served.map(({ id }) => id));
    for (const id of seen.keys()) {
      if (ids.has(id)) continue;
      seen.delete(id);
      wanted.delete(id);
      soon.delete(id);
      clearTimeout(timers.get(id));
      timers.delete(id);
      firstTime.get(id)?.();
    }
  };

  return {
    refresh,
    start() {
      stops.push(registry.onChange(follow));
      stops.push(
        sessions.onChange(({ connection, change }) => {
          if (change.kind === "tools" || change.kind === "prompts" || change.kind === "resources") {
            plan(connection.id, QUIET_MS);
          }
        }),
      );
      const first = registry.connections().map(
        ({ id }) =>
          new Promise<void>((resolve) => {
            firstTime.set(id, resolve);
          }),
      );
      follow();
      // Said over the bus already, but whoever waits for us must find it served.
      return Promise.all(first).then(() => (closed ? undefined : registry.reload()));
    },
    async idle() {
      const due = () => [...firstTime.keys(), ...waiting, ...reading.keys(), ...soon].length > 0;
      while (!closed && due()) {
        await Promise.allSettled(reading.values());
        await setImmediate();
      }
    },
    async close() {
      closed = true;
      for (const stop of stops) stop();
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      waiting.length = 0;
      for (const done of firstTime.values()) done();
      await Promise.allSettled(reading.values());
    },
  };
}

/** A connection that one signs in to needs somebody who has; others need their credential first. */
async function canBeLoaded(connection: ServedConnection, readerOf: ReaderOf | undefined): Promise<boolean> {
  if (connection.state === "disabled") return false;
  if (connection.auth.method === "oauth") return (await readerOf?.(connection)) !== undefined;
  return connection.state !== "needsAuthorization" || connection.loadError !== undefined;
}

async function readCatalogue(session: AdapterSession): Promise<ListedCatalogue> {
  const tools = await optional(session.listTools());
  return {
    introduction: session.introduction(),
    tools,
    prompts: await optional<CatalogueItem>(session.listPrompts?.()),
    resources: await optional<CatalogueItem>(session.listResources?.()),
    templates: await optional<CatalogueItem>(session.listResourceTemplates?.()),
  };
}

/** A service that does not know a list has an empty one. */
async function optional<Item>(listing: Promise<Item[]> | undefined): Promise<Item[]> {
  try {
    return (await listing) ?? [];
  } catch (error) {
    if (error instanceof UpstreamRpcError && error.rpcCode === METHOD_NOT_FOUND) return [];
    throw error;
  }
}

/** What went wrong upstream or in the configuration; undefined for a failure of our own. */
export function failureOf(error: unknown): { code: string; message: string } | undefined {
  if (error instanceof UpstreamError || error instanceof JackfieldError) {
    return { code: error.code, message: error.message };
  }
  if (error instanceof UpstreamRpcError) {
    return { code: "upstream_protocol", message: `The service answered with error ${error.rpcCode}: ${error.message}` };
  }
  return undefined;
}
