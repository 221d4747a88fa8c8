/**
 * What processes share beside the database: messages, locks, rate limits and a cache. One form in memory, one in
 * Redis, chosen once at start; `test/contract/shared-state.ts` runs against both.
 */

/** Everything else that goes over the bus is a mistake; the payload of each topic stands beside it. */
export const TOPICS = {
  /**
   * `{ id }` of a token or grant that ended, `{ personId }` of somebody whose membership changed, `{ widened }` with the
   * id of a grant that allows more now.
   */
  tokens: "tokens",
  /** `{ environmentId }` of which another version was published. */
  environment: "environment",
  /** `{ connectionId }` of which the stored catalogue or its reviews changed. */
  catalogue: "catalogue",
  /** `{ endpointId, holderKey }` of which the listed tools changed. */
  activations: "activations",
  /** `{ connectionId, principalKey }` of an account that came, changed or went. */
  accounts: "accounts",
  /** `{ id }` of a session that was closed. */
  sessions: "sessions",
  /** `{ organizationId, name }` of a credential that was changed or deleted. */
  credentials: "credentials",
  /** `{ id }` of an upstream's task that went on. */
  tasks: "tasks",
  /** `{ id }` of an approval that was decided. */
  approvals: "approvals",
  /** `{}`: another master key was put in the file. */
  keys: "keys",
  /** `{}`: other pieces are installed in the data directory. */
  pieces: "pieces",
  /** `{}`: read the configuration files again. */
  reload: "reload",
} as const;

export type Payload = Record<string, unknown>;
export type Listener = (payload: Payload) => void;

/**
 * A message is a hint: state lives in SQL and receivers read it again. Publishing never fails for want of a
 * connection (it is logged), and the publisher's own listeners hear it before `publish` resolves.
 *
 * An empty payload means that messages may have been lost: everything of that topic is to be read again.
 */
export interface Bus {
  publish(topic: string, payload: Payload): Promise<void>;
  /** Returns the function that ends the subscription. A listener that throws is logged and disturbs no other. */
  subscribe(topic: string, listener: Listener): () => void;
  close(): Promise<void>;
}

export interface Locks {
  /**
   * Takes a named lock and returns the function that releases it; undefined where another holder kept it for
   * `waitMs` (default 0). After `ttlMs` the lock is anybody's again: what it guards must survive that.
   */
  acquire(name: string, options: { ttlMs: number; waitMs?: number }): Promise<(() => Promise<void>) | undefined>;
}

export interface Limit {
  points: number;
  perMs: number;
}

export interface Limited {
  allowed: boolean;
  /** Points left in the window. */
  remaining: number;
  /** Milliseconds until a refused caller may try again; 0 where allowed. */
  retryAfterMs: number;
}

export interface Limiter {
  /** Takes one point from a window that opens with the first one and lasts `perMs`. */
  consume(key: string, limit: Limit): Promise<Limited>;
  /** Gives one point back, where the window of the key is still open. */
  refund(key: string): Promise<void>;
}

/** May forget anything at any time. */
export interface Cache {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  delete(key: string): Promise<void>;
}

export interface SharedState {
  readonly bus: Bus;
  readonly locks: Locks;
  readonly limiter: Limiter;
  readonly cache: Cache;
  close(): Promise<void>;
}
