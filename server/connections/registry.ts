/**
 * What is served, in memory. Requests read it without waiting for anything; it follows the store.
 *
 * A bus message is only a hint that something changed. Since one can be lost, the store is also looked at every
 * half minute, by the few columns that say whether anything moved.
 */
import type { Log } from "../../adapters/contract.ts";
import type { Bus } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { FIRST_ORGANIZATION } from "./files.ts";
import { loadFingerprint, loadServed, NOTHING_SERVED, type PieceOffers, type Served } from "./snapshot.ts";
import type { ServedConnection, ServedEndpoint, ServedEnvironment } from "./types.ts";

const LOOK_EVERY_MS = 30_000;

export interface Registry {
  /** The first snapshot is there. Rejects where the store cannot be read. */
  readonly ready: Promise<void>;
  environment(id: string): ServedEnvironment | undefined;
  environments(): ServedEnvironment[];
  /**
   * @param organizationSlug undefined: the first organization
   * @param endpointSlug undefined: its default endpoint
   */
  endpoint(
    organizationSlug: string | undefined,
    endpointSlug: string | undefined,
  ): { endpoint: ServedEndpoint; environment: ServedEnvironment } | undefined;
  /** The same as `endpoint`, with the draft of its environment where there is one: for those who try it. */
  tried(
    organizationSlug: string | undefined,
    endpointSlug: string | undefined,
  ): { endpoint: ServedEndpoint; environment: ServedEnvironment } | undefined;
  /** What the draft of an environment would serve; undefined where nothing waits. */
  draft(environmentId: string): ServedEnvironment | undefined;
  /** A connection by its id, of whatever environment owns it; as it is drafted where it is nothing else yet. */
  connection(id: string): ServedConnection | undefined;
  /** Those that are served, and those that only a draft has. */
  connections(): ServedConnection[];
  /** Connections as drafts have them, where that is different from what is served. */
  drafted(): ServedConnection[];
  /** Called after the snapshot of an environment was replaced by a different one, or taken away. */
  onChange(listener: (change: { environmentId: string }) => void): () => void;
  /** Reads the store again now; resolves when what was stored at the time of the call is served. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface RegistryOptions {
  store: Store;
  bus: Bus;
  log: Log;
  /** Absent: connections of pieces have no tools. */
  pieces?: PieceOffers;
}

export function createRegistry({ store, bus, log, pieces }: RegistryOptions): Registry {
  let served: Served = NOTHING_SERVED;
  const listeners = new Set<(change: { environmentId: string }) => void>();
  let closed = false;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    const before = served;
    const after = await loadServed(store, before, pieces);
    if (closed) return;
    served = after;
    const ids = new Set([...before.environments.keys(), ...after.environments.keys()]);
    const revisions = ({ environments, drafts }: Served, id: string) =>
      `${environments.get(id)?.revision}|${drafts.get(id)?.revision}`;
    for (const environmentId of ids) {
      if (revisions(before, environmentId) === revisions(after, environmentId)) continue;
      for (const listener of listeners) listener({ environmentId });
    }
  };

  /** One read at a time; calls that arrive during one share the next. */
  const reload = (): Promise<void> => {
    if (running === undefined) {
      running = read().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return reload();
      });
    return next;
  };

  const hint = (): void => {
    if (closed) return;
    reload().catch((error: unknown) => {
      if (!closed) log.error({ reason: String(error) }, "what is served could not be read again; it stays as it was");
    });
  };
  const look = async (): Promise<void> => {
    if (running === undefined && (await loadFingerprint(store)) !== served.fingerprint) hint();
  };
  const drafted = (): ServedConnection[] =>
    [...served.drafts.values()].flatMap(({ id, connections }) =>
      connections.filter((connection) => {
        return connection.environmentId === id && served.connections.get(connection.id) !== connection;
      }),
    );
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ reason: String(error) }, "the store could not be looked at"));
  }, LOOK_EVERY_MS);
  timer.unref();
  const unsubscribe = ["environment", "catalogue", "credentials"].map((topic) => bus.subscribe(topic, hint));
  const ready = reload();
  // Whoever awaits `ready` gets the rejection; where nobody does it must not end the process.
  ready.catch(() => undefined);

  return {
    ready,
    environment: (id) => served.environments.get(id),
    environments: () => [...served.environments.values()],
    endpoint: (organization, endpoint) => find(served.environments.values(), organization, endpoint),
    tried(organization, endpoint) {
      const { environments, drafts } = served;
      const heads = [...environments.values()].map((environment) => drafts.get(environment.id) ?? environment);
      return find(heads, organization, endpoint);
    },
    draft: (environmentId) => served.drafts.get(environmentId),
    connection: (id) => served.connections.get(id) ?? drafted().find((connection) => connection.id === id),
    connections: () => [...served.connections.values(), ...drafted().filter(({ id }) => !served.connections.has(id))],
    drafted,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload,
    async close() {
      closed = true;
      clearInterval(timer);
      for (const stop of unsubscribe) stop();
      listeners.clear();
      await Promise.allSettled([running, next]);
    },
  };
}

/** The first environment that has it: those of one organization are in the order in which they were made. */
function find(
  environments: Iterable<ServedEnvironment>,
  organizationSlug: string | undefined = FIRST_ORGANIZATION,
  endpointSlug: string | undefined,
): { endpoint: ServedEndpoint; environment: ServedEnvironment } | undefined {
  for (const environment of environments) {
    if (environment.organizationSlug !== organizationSlug) continue;
    const endpoint = environment.endpoints.find((candidate) =>
      endpointSlug === undefined ? candidate.isDefault : candidate.slug === endpointSlug,
    );
    if (endpoint) return { endpoint, environment };
  }
  return undefined;
}
