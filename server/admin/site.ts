/** Composes what the pages are made of. */
import type { Log } from "../../adapters/contract.ts";
import type { Origins } from "../mcp/origins.ts";
import type { Audit } from "../observe/audit.ts";
import { type Cookies, createCookies } from "../people/cookies.ts";
import { createCsrf } from "../people/csrf.ts";
import { createOneTimeLinks, type OneTimeLinks } from "../people/one-time-links.ts";
import { createPasswords, type Passwords } from "../people/password.ts";
import { createSignIn, type SignIn } from "../people/sign-in.ts";
import { createWebSessions, type WebSessions } from "../people/web-sessions.ts";
import type { Limiter } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { createPages, type Pages } from "./pages.ts";

export interface Site {
  readonly pages: Pages;
  readonly cookies: Cookies;
  readonly sessions: WebSessions;
  readonly signIn: SignIn;
  readonly links: OneTimeLinks;
  readonly passwords: Passwords;
  readonly store: Store;
  readonly audit: Audit;
  readonly clock: () => number;
  readonly log: Log;
  /** Whether anybody could sign in: before the first setup nobody can. */
  anybody(): Promise<boolean>;
}

export interface SiteOptions {
  store: Store;
  keyring: Keyring;
  limiter: Limiter;
  audit: Audit;
  origins: Origins;
  /** Origin under which browsers reach the server; undefined: the address it listens at, over plain http. */
  publicUrl: string | undefined;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function createSite({ store, keyring, limiter, audit, origins, publicUrl, log, clock }: SiteOptions): Site {
  const cookies = createCookies(publicUrl?.startsWith("https:") === true);
  const sessions = createWebSessions({ store, cookies, clock });
  const passwords = createPasswords();
  return {
    cookies,
    pages: createPages({ sessions, csrf: createCsrf({ keyring, cookies, publicUrl }), origins }),
    sessions,
    signIn: createSignIn({ store, passwords, limiter, audit, log }),
    links: createOneTimeLinks({ store, clock }),
    passwords,
    store,
    audit,
    clock,
    log,
    anybody: async () => (await store.models.people.count({ where: { disabledAt: null } })) > 0,
  };
}
