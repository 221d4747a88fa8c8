/** Signing in with a username and a password, and what keeps strangers from trying them all. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../adapters/contract.ts";
import type { Audit } from "../observe/audit.ts";
import type { Limiter } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import { networkOf } from "./network.ts";
import type { Passwords } from "./password.ts";
import { type Person, plainUsername, withoutHash } from "./people.ts";
import { prepareSignInRecord } from "./sign-in-audit.ts";

const WINDOW_MS = 15 * 60_000;
/** Wrong passwords for one account from one address. */
const PER_ACCOUNT = 5;
/** Wrong passwords from one address, whatever the account. */
const PER_ADDRESS = 30;
/** Milliseconds that the answer waits after `PER_ACCOUNT` wrong passwords for an account from anywhere; doubled each time. */
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;
/** More than anybody counts to: the limiter is asked how many were wrong, not whether more may come. */
const COUNTED = 1_000;

export type SignInAnswer =
  | { readonly kind: "in"; readonly person: Person }
  /** Unknown account, wrong password, account without one, disabled account: not told apart. */
  | { readonly kind: "wrong" }
  | { readonly kind: "limited"; readonly retryAfterMs: number };

export interface SignIn {
  /**
   * Checks a username and a password.
   * @param address of the browser, as told by a trusted proxy or the socket; all unknown ones count as one
   * Throws `busy` where too many hashes wait.
   */
  check(username: string, password: string, address: string | undefined): Promise<SignInAnswer>;
}

export interface SignInOptions {
  store: Store;
  passwords: Passwords;
  limiter: Limiter;
  audit: Audit;
  log: Log;
  /** Waits for milliseconds; tests do not. */
  wait?: (ms: number) => Promise<unknown>;
}

/**
 * An account is limited for an address that guessed at it, never for everybody: a stranger must not be able to lock
 * somebody out. Guesses at one account from many addresses are slowed down instead, for all alike, by seconds at most.
 */
export function createSignIn({ store, passwords, limiter, audit, log, wait = delay }: SignInOptions): SignIn {
  const { people } = store.models;
  return {
    async check(typed, password, address) {
      const username = plainUsername(typed);
      const account = createHash("sha256").update(username).digest("hex");
      const from = networkOf(address);
      const limits = [
        { key: `sign-in:address:${from}`, points: PER_ADDRESS },
        { key: `sign-in:account:${account}:${from}`, points: PER_ACCOUNT },
      ];
      // Taken before the check and given back after a right one: attempts at the same time count, too.
      for (const { key, points } of limits) {
        const { allowed, retryAfterMs } = await limiter.consume(key, { points, perMs: WINDOW_MS });
        if (!allowed) {
          log.warn({ address }, "a sign-in was refused for too many attempts");
          return { kind: "limited", retryAfterMs };
        }
      }
      const everywhere = `sign-in:account:${account}`;
      const { remaining } = await limiter.consume(everywhere, { points: COUNTED, perMs: WINDOW_MS });
      const pause = pauseAfter(COUNTED - remaining - 1);
      if (pause > 0) await wait(pause);

      const row = await people.findOne({ where: { username } });
      const record = await prepareSignInRecord({ store, audit }, row);
      const { ok, rehash } = await passwords.verify(password, row?.passwordHash);
      if (row === null || !ok || row.disabledAt !== null) {
        record("password", false);
        log.warn({ address, person: row?.id }, "a sign-in was refused");
        return { kind: "wrong" };
      }
      await Promise.all([...limits.map(({ key }) => key), everywhere].map((key) => limiter.refund(key)));
      if (rehash) {
        const passwordHash = await passwords.hash(password);
        await people.update({ passwordHash }, { where: { id: row.id, passwordHash: row.passwordHash } });
      }
      record("password", true);
      log.info({ address, person: row.id }, "a person signed in");
      return { kind: "in", person: withoutHash(row) };
    },
  };
}

/** @param wrong attempts at the account in this window, before this one */
function pauseAfter(wrong: number): number {
  if (wrong < PER_ACCOUNT) return 0;
  return Math.min(FIRST_DELAY_MS * 2 ** (wrong - PER_ACCOUNT), LONGEST_DELAY_MS);
}
