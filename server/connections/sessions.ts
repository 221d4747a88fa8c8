/**
 * The open sessions with upstreams.
 *
 * A session belongs to a connection as it is configured (and to one principal, where the connection is each user's
 * own): a changed configuration never uses a session of the old one. It is opened on first use, by one opener for all
 * who wait, and closed when nobody used it for a while.
 */
import { type AdapterContext, type AdapterSession, type Change, UpstreamError } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Store } from "../store/database.ts";
import { createBackOff } from "./back-off.ts";
import { credentialOf } from "./credentials.ts";
import { digestOf } from "./digest.ts";
import { connectionMemory } from "./memory.ts";
import { type OpeningParts, openSession } from "./open-session.ts";
import type { StoredCredentials } from "./stored-credentials.ts";
import type { ServedConnection } from "./types.ts";

const IDLE_MS = 10 * 60_000;
const SWEEP_MS = 30_000;

export interface ConnectionSessions {
  /**
   * Runs work with a session of the connection, opening one where none is open.
   * @param principalKey whose session it is, where the connection's subject is `user`; else it is not looked at
   * @throws UpstreamError where it cannot be opened (again without a try, while it backs off);
   *   JackfieldError `missing_variable` or `authorization_required`
   */
  use<Result>(
    connection: ServedConnection,
    principalKey: string | undefined,
    work: (session: AdapterSession) => Promise<Result>,
  ): Promise<Result>;
  /** What upstreams tell by themselves: lists that changed, resources, log messages. */
  onChange(listener: (event: { connection: ServedConnection; change: Change }) => void): () => void;
  /** Ends what is kept upstream for a caller, in every open session. */
  forget(callerKey: string): Promise<void>;
  /** Closes the sessions of connections that are not served any more, or not as they were. */
  retain(connections: readonly ServedConnection[]): void;
  close(): Promise<void>;
}

export interface SessionsOptions extends OpeningParts {
  store: Store;
  /** Where tokens and keys are looked up by name. */
  credentials: Pick<StoredCredentials, "find">;
  /** The credential of a connection that is signed in to, or mints its own tokens. */
  credentialFor?: (connection: ServedConnection, principalKey: string | undefined) => AdapterContext["credential"];
  idleMs?: number;
}

interface Pooled {
  readonly connection: ServedConnection;
  readonly digest: string;
  readonly abort: AbortController;
  readonly session: Promise<AdapterSession>;
  /** Whether opening is over; one that still opens is aborted where it is not wanted any more. */
  opened: boolean;
  users: number;
  lastUsed: number;
  /** Not handed out any more; closed when the last user is done. */
  retired: boolean;
}

export function createSessions(options: SessionsOptions): ConnectionSessions {
  const { log, clock = Date.now, idleMs = IDLE_MS } = options;
  const pool = new Map<string, Pooled>();
  const ending = new Set<Promise<void>>();
  const listeners = new Set<(event: { connection: ServedConnection; change: Change }) => void>();
  const backOff = createBackOff(clock);
  let closed = false;

  const open = (
    connection: ServedConnection,
    principalKey: string | undefined,
    key: string,
    digest: string,
  ): Pooled => {
    const abort = new AbortController();
    const opened = openSession(options, {
      connection,
      credential: credentialGetter(options, connection, principalKey),
      memory: connectionMemory(options.store, connection.id),
      principalKey,
      abort,
      changed: (change) => {
        for (const listener of listeners) listener({ connection, change });
      },
    });
    const pooled: Pooled = {
      connection,
      digest,
      abort,
      session: opened,
      opened: false,
      users: 0,
      lastUsed: clock(),
      retired: false,
    };
    pool.set(key, pooled);
    opened.then(
      () => {
        pooled.opened = true;
        backOff.succeeded(key);
      },
      (error: unknown) => {
        if (pool.get(key) === pooled) pool.delete(key);
        pooled.retired = true;
        if (!closed && !isOurs(error)) backOff.failed(key, error);
      },
    );
    return pooled;
  };

  const end = (pooled: Pooled): void => {
    if (!pooled.opened) pooled.abort.abort();
    const closing = (async () => {
      try {
        const session = await pooled.session;
        await session.close();
      } catch (error) {
        log.debug({ connection: pooled.connection.slug, reason: String(error) }, "a session ended with an error");
      } finally {
        pooled.abort.abort();
      }
    })();
    ending.add(closing);
    closing.finally(() => ending.delete(closing));
  };

  const retire = (key: string, pooled: Pooled): void => {
    if (pool.get(key) === pooled) pool.delete(key);
    if (pooled.retired) return;
    pooled.retired = true;
    if (pooled.users === 0) end(pooled);
  };

  const sweep = setInterval(
    () => {
      for (const [key, pooled] of pool) {
        if (pooled.users === 0 && clock() - pooled.lastUsed >= idleMs) retire(key, pooled);
      }
    },
    Math.min(SWEEP_MS, idleMs),
  );
  sweep.unref();

  return {
    async use(connection, principalKey, work) {
      if (closed) throw new UpstreamError("upstream_unreachable", "The proxy is shutting down.", { processed: "no" });
      const digest = sessionDigest(connection);
      const principal = connection.subject === "user" ? principalKey : undefined;
      const key = `${connection.id}|${digest}|${principal ?? ""}`;
      const known = pool.get(key);
      if (known === undefined) backOff.check(key);
      const pooled = known ?? open(connection, principal, key, digest);
      pooled.users += 1;
      try {
        return await work(await pooled.session);
      } finally {
        pooled.users -= 1;
        pooled.lastUsed = clock();
        if (pooled.retired && pooled.users === 0 && pool.get(key) !== pooled) end(pooled);
      }
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async forget(callerKey) {
      const sessions = await Promise.allSettled([...pool.values()].map(({ session }) => session));
      const forgetting = sessions.map(async (session) =>
        session.status === "fulfilled" ? session.value.forget?.(callerKey) : undefined,
      );
      await Promise.allSettled(forgetting);
    },
    retain(connections) {
      const wanted = new Set(connections.map((connection) => `${connection.id}|${sessionDigest(connection)}`));
      for (const [key, pooled] of pool) {
        if (!wanted.has(`${pooled.connection.id}|${pooled.digest}`)) retire(key, pooled);
      }
    },
    async close() {
      closed = true;
      clearInterval(sweep);
      for (const [key, pooled] of pool) {
        pool.delete(key);
        if (pooled.retired) continue;
        pooled.retired = true;
        end(pooled);
      }
      listeners.clear();
      await Promise.allSettled(ending);
    },
  };
}

/** Nothing was asked of the service: as soon as what is missing here is there, it may be. */
function isOurs(error: unknown): boolean {
  return (
    error instanceof JackfieldError && (error.code === "authorization_required" || error.code === "missing_variable")
  );
}

/** Everything that a session depends on; the label of a connection may change under an open session. */
function sessionDigest(connection: ServedConnection): string {
  const { type, config, auth, credential, credentialRevision, subject, asks } = connection;
  return digestOf({ type, config, auth, credential, credentialRevision, subject, asks });
}

function credentialGetter(
  { env, credentials, credentialFor }: SessionsOptions,
  connection: ServedConnection,
  principalKey: string | undefined,
): AdapterContext["credential"] {
  const { method } = connection.auth;
  if (method !== "oauth" && method !== "client_credentials") return credentialOf(connection, { env, credentials });
  if (credentialFor !== undefined) return credentialFor(connection, principalKey);
  return async () => {
    throw new JackfieldError("authorization_required");
  };
}
