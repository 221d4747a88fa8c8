/**
 * Renews an account's tokens, once for all who need it.
 *
 * A rotated refresh token works once, and one that comes twice may end every token of its family (RFC 9700, 4.14.2).
 * So within a process everybody waits for one flight; between processes a lock lets one in at a time, and the mark
 * `refreshing_since` in the row, set on condition of the version and the mark before, says who it is even where the
 * lock has lapsed. The version decides: whoever finds another one uses what is there.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../adapters/contract.ts";
import { createBackOff } from "../connections/back-off.ts";
import type { Locks } from "../shared-state/contract.ts";
import type { Accounts } from "./accounts.ts";
import { TokenError } from "./token-request.ts";
import type { Account, SignInReason, Tokens } from "./types.ts";

/** Whoever holds the mark longer than this is dead: a request and its writing take less. */
export const STALE_MS = 30_000;
/** What is waited for another process at most. */
const PATIENCE_MS = 10_000;
const POLL_MS = 40;

export type Renewed =
  /** There are newer tokens, from here or from elsewhere. */
  | { kind: "renewed"; account: Account }
  /** Nothing came of it; the account is as it was. */
  | { kind: "kept"; account: Account; error: TokenError }
  | { kind: "ended"; reason: SignInReason };

export interface RenewalWork {
  /** Fetches tokens with what the account holds. Rejects with `TokenError`. */
  request(account: Account): Promise<Tokens>;
  /** Why this failure means that the account needs a sign-in; undefined where it does not. */
  endsOn(error: TokenError, account: Account): Promise<SignInReason | undefined>;
}

export interface Renewal {
  /** Gets tokens newer than the given account's. */
  renew(account: Account, work: RenewalWork): Promise<Renewed>;
  /** Whether exactly these tokens were fetched here less than a minute ago. */
  isFresh(account: Account): boolean;
}

const FRESH_MS = 60_000;
const REMEMBERED = 10_000;

export interface RenewalOptions {
  readonly accounts: Accounts;
  readonly locks: Locks;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
}

export function createRenewal({ accounts, locks, clock, log }: RenewalOptions): Renewal {
  const flights = new Map<string, { version: number; outcome: Promise<Renewed> }>();
  const fetched = new Map<string, { version: number; at: number }>();
  const backOff = createBackOff(clock);

  const renewedBy = async (account: Account): Promise<Renewed> => {
    const now = await accounts.find(account.connectionId, account.principalKey);
    if (!now) return { kind: "ended", reason: "no_account" };
    if (now.state !== "connected") return { kind: "ended", reason: reasonOf(now) };
    return { kind: "renewed", account: now };
  };

  /** Waits until the row is ours to change, or until somebody else has changed it. */
  async function claim(account: Account, until: number): Promise<Account | Renewed> {
    for (;;) {
      const row = await accounts.find(account.connectionId, account.principalKey);
      if (!row) return { kind: "ended", reason: "no_account" };
      if (row.state !== "connected") return { kind: "ended", reason: reasonOf(row) };
      if (row.version !== account.version) return { kind: "renewed", account: row };
      const since = row.refreshingSince?.getTime();
      if (since === undefined || clock() - since >= STALE_MS) {
        if (since !== undefined) log.warn({ account: row.id }, "a refresh was begun and never ended; it is tried once");
        if (await accounts.mark(row)) return row;
      } else if (performance.now() >= until) {
        return { kind: "kept", account: row, error: new TokenError("unavailable", "another process is refreshing") };
      }
      await delay(POLL_MS * (1 + Math.random()));
    }
  }

  async function fly(account: Account, work: RenewalWork): Promise<Renewed> {
    const waiting = backOff.failure(account.id);
    if (waiting instanceof TokenError) return { kind: "kept", account, error: waiting };
    const until = performance.now() + PATIENCE_MS;
    const release = await locks
      .acquire(`refresh:${account.id}`, { ttlMs: STALE_MS, waitMs: PATIENCE_MS })
      .catch((error: unknown) => {
        log.warn({ account: account.id, reason: String(error) }, "refreshing goes on without its lock");
        return undefined;
      });
    try {
      const claimed = await claim(account, until);
      return "kind" in claimed ? claimed : await exchange(claimed, work);
    } finally {
      await release?.();
    }
  }

  async function exchange(account: Account, work: RenewalWork): Promise<Renewed> {
    let tokens: Tokens;
    try {
      tokens = await work.request(account);
    } catch (error) {
      const failure =
        error instanceof TokenError ? error : new TokenError("unavailable", String(error), { cause: error });
      return failed(account, work, failure);
    }
    backOff.succeeded(account.id);
    if (await accounts.rotate(account, tokens)) {
      if (fetched.size >= REMEMBERED) fetched.clear();
      fetched.set(account.id, { version: account.version + 1, at: clock() });
    }
    // Where the row had changed, somebody signed in meanwhile: that is newer still.
    return renewedBy(account);
  }

  async function failed(account: Account, work: RenewalWork, error: TokenError): Promise<Renewed> {
    const reason = await work.endsOn(error, account);
    const told = { account: account.id, connection: account.connectionId, kind: error.kind, reason: error.message };
    if (reason !== undefined) {
      log.warn(told, "an account ended: it needs a new sign-in");
      return (await accounts.end(account, reason)) ? { kind: "ended", reason } : renewedBy(account);
    }
    log.warn(told, "tokens could not be renewed; they are kept");
    await accounts.unmark(account);
    backOff.failed(account.id, error);
    return { kind: "kept", account, error };
  }

  return {
    async renew(account, work) {
      const known = flights.get(account.id);
      if (known && known.version >= account.version) return known.outcome;
      const flight = { version: account.version, outcome: fly(account, work) };
      flights.set(account.id, flight);
      try {
        return await flight.outcome;
      } finally {
        if (flights.get(account.id) === flight) flights.delete(account.id);
      }
    },
    isFresh({ id, version }) {
      const last = fetched.get(id);
      return last?.version === version && clock() - last.at < FRESH_MS;
    },
  };
}

const REASONS: ReadonlySet<string> = new Set<SignInReason>([
  "invalid_grant",
  "invalid_client",
  "expired",
  "refused",
  "disconnected",
]);

/** Why an account that is stored as ended needs a sign-in. */
export function reasonOf({ endedReason }: Pick<Account, "endedReason">): SignInReason {
  return isReason(endedReason) ? endedReason : "no_account";
}

function isReason(value: string | null): value is SignInReason {
  return value !== null && REASONS.has(value);
}
