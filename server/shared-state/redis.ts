/** The shared state of any number of processes, in Redis. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import type { Log } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import type { Bus, Cache, Limiter, Locks, Payload, SharedState } from "./contract.ts";
import { Listeners } from "./listeners.ts";
import { createMemoryLimiter } from "./memory-limiter.ts";

/** Milliseconds between two tries for a lock that another one holds. */
const LOCK_POLL_MS = 25;
const COMMAND_MS = 2_000;
const CONNECT_MS = 5_000;

/** Deletes a lock only where it is still ours. */
const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
/** Counts one point in a window and answers with the count and the milliseconds that the window has left. */
const CONSUME = `local used = redis.call('incr', KEYS[1])
if used == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
return { used, redis.call('pttl', KEYS[1]) }`;
/** A window that is over must not begin again below zero and without an end. */
const REFUND = `if tonumber(redis.call('get', KEYS[1]) or '0') > 0 then redis.call('decr', KEYS[1]) end`;

export interface RedisStateOptions {
  url: string;
  /** Keeps deployments on one Redis apart; all processes of one deployment give the same. */
  namespace: string;
  log: Log;
}

/**
 * Connects to Redis. Throws `start_failed` where it does not answer. When it goes away later, limits are counted in
 * this process, the cache is empty, messages reach this process only, and locks reject.
 */
export async function openRedisState({ url, namespace, log }: RedisStateOptions): Promise<SharedState> {
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_MS,
    connectTimeout: CONNECT_MS,
    retryStrategy: (attempt) => Math.min(2_000, 50 * 2 ** attempt),
  });
  const subscriber = client.duplicate({ maxRetriesPerRequest: null });
  noteFailures(client, log);
  noteFailures(subscriber, log);
  const prefix = `jackfield:${namespace}:`;
  try {
    await client.connect();
    await client.ping();
    const bus = await openBus(client, subscriber, `${prefix}bus`, log);
    return {
      bus,
      locks: createLocks(client, prefix),
      limiter: createLimiter(client, prefix, log),
      cache: createCache(client, prefix, log),
      async close() {
        await bus.close();
        client.disconnect();
      },
    };
  } catch (cause) {
    client.disconnect();
    subscriber.disconnect();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new JackfieldError("start_failed", { text: `Redis (REDIS_URL) does not answer: ${reason}`, cause });
  }
}

/** One line when the connection is lost and one when it is back, not one for every try in between. */
function noteFailures(redis: Redis, log: Log): void {
  let failing = false;
  redis.on("error", (error: Error) => {
    if (!failing) log.warn({ reason: error.message }, "Redis does not answer");
    failing = true;
  });
  redis.on("ready", () => {
    if (failing) log.info({}, "Redis answers again");
    failing = false;
  });
}

async function openBus(client: Redis, subscriber: Redis, channel: string, log: Log): Promise<Bus> {
  const listeners = new Listeners(log);
  const origin = randomUUID();
  subscriber.on("message", (_channel: string, text: string) => {
    const message: { origin: string; topic: string; payload: Payload } = JSON.parse(text);
    if (message.origin !== origin) listeners.deliver(message.topic, message.payload);
  });
  await subscriber.connect();
  await subscriber.subscribe(channel);
  subscriber.on("ready", () => {
    // Redis keeps nothing for those who were away.
    subscriber.subscribe(channel).then(
      () => listeners.deliverLoss(),
      (error: unknown) => log.warn({ error }, "the bus could not be subscribed to again"),
    );
  });
  return {
    async publish(topic, payload) {
      listeners.deliver(topic, payload);
      try {
        await client.publish(channel, JSON.stringify({ origin, topic, payload }));
      } catch (error) {
        log.warn({ error, topic }, "a message could not be passed on to other processes");
      }
    },
    subscribe: (topic, listener) => listeners.add(topic, listener),
    async close() {
      listeners.clear();
      subscriber.disconnect();
    },
  };
}

function createLocks(client: Redis, prefix: string): Locks {
  return {
    async acquire(name, { ttlMs, waitMs = 0 }) {
      const key = `${prefix}lock:${name}`;
      const holder = randomUUID();
      const giveUpAt = performance.now() + waitMs;
      while ((await client.set(key, holder, "PX", ttlMs, "NX")) === null) {
        const left = giveUpAt - performance.now();
        if (left <= 0) return undefined;
        await delay(Math.min(left, LOCK_POLL_MS));
      }
      return async () => {
        await client.eval(RELEASE, 1, key, holder);
      };
    },
  };
}

function createLimiter(client: Redis, prefix: string, log: Log): Limiter {
  const fallback = createMemoryLimiter(Date.now);
  return {
    async consume(key, limit) {
      let answer: unknown;
      try {
        answer = await client.eval(CONSUME, 1, `${prefix}limit:${key}`, limit.perMs);
      } catch (error) {
        log.warn({ error }, "a limit is counted in this process only");
        return fallback.consume(key, limit);
      }
      const [used, leftMs] = Array.isArray(answer) ? answer.map(Number) : [];
      const count = used ?? 1;
      const allowed = count <= limit.points;
      const retryAfterMs = allowed ? 0 : Math.max(1, leftMs ?? limit.perMs);
      return { allowed, remaining: Math.max(0, limit.points - count), retryAfterMs };
    },
    async refund(key) {
      try {
        await client.eval(REFUND, 1, `${prefix}limit:${key}`);
      } catch (error) {
        log.warn({ error }, "a point was given back in this process only");
        await fallback.refund(key);
      }
    },
  };
}

function createCache(client: Redis, prefix: string, log: Log): Cache {
  const keyOf = (key: string): string => `${prefix}cache:${key}`;
  async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      log.debug({ error }, "the cache does not answer");
      return undefined;
    }
  }
  return {
    get: async (key) => (await attempt(client.get(keyOf(key)))) ?? undefined,
    async set(key, value, ttlMs) {
      await attempt(client.set(keyOf(key), value, "PX", ttlMs));
    },
    async delete(key) {
      await attempt(client.del(keyOf(key)));
    },
  };
}
