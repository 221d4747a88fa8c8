/** Composes what the pages are made of. */
import type { Log } from "../../adapters/contract.ts";
import type { Origins } from "../mcp/origins.ts";
import type { Audit } from "../observe/audit.ts";
import { type Cookies, createCookies } from "../people/cookies.ts";
import { type Csrf, createCsrf } from "../people/csrf.ts";
import { createExternalAttempts, type ExternalAttempts } from "../people/external-attempts.ts";
import { createExternalSignIn, type ExternalSignIn } from "../people/external-sign-in.ts";
import type { OtherAccess } from "../people/members.ts";
import { openPeople, type People } from "../people/open-people.ts";
import { createPasswords, type Passwords } from "../people/password.ts";
import { createProviders, type Providers, type ProvidersOptions } from "../people/providers/providers.ts";
import { createSignIn, type SignIn } from "../people/sign-in.ts";
import { noteEndedSession } from "../people/sign-in-audit.ts";
import { createWebSessions, type WebSessions } from "../people/web-sessions.ts";
import type { Limiter } from "../shared-state/contract.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { createPages, type Pages } from "./pages.ts";

export interface Site extends People {
  readonly pages: Pages;
  readonly cookies: Cookies;
  readonly csrf: Csrf;
  readonly sessions: WebSessions;
  readonly signIn: SignIn;
  readonly passwords: Passwords;
  readonly providers: Providers;
  readonly attempts: ExternalAttempts;
  readonly external: ExternalSignIn;
  readonly limiter: Limiter;
  /** Origin under which browsers reach the server, once it listens. */
  readonly publicOrigin: () => string;
  /** Has every process look at a person's tokens anew. */
  readonly changed: (personId: string) => Promise<void>;
  readonly store: Store;
  readonly audit: Audit;
  readonly clock: () => number;
  readonly log: Log;
  /** Whether anybody could sign in: before the first setup nobody can. */
  anybody(): Promise<boolean>;
}

export interface SiteOptions extends Pick<ProvidersOptions, "jackfield" | "env" | "egress"> {
  store: Store;
  keyring: Keyring;
  limiter: Limiter;
  audit: Audit;
  origins: Origins;
  /** What ends with a membership, beside what people have here. */
  otherAccess: OtherAccess;
  /** Origin under which browsers reach the server; undefined: the address it listens at, over plain http. */
  publicUrl: string | undefined;
  /** The same once we listen. */
  publicOrigin: () => string;
  log: Log;
  /** Milliseconds since the epoch. */
  clock: () => number;
}

export function createSite(options: SiteOptions): Site {
  const { store, keyring, limiter, audit, origins, publicUrl, log, clock } = options;
  const cookies = createCookies(publicUrl?.startsWith("https:") === true);
  const sessions = createWebSessions({
    store,
    cookies,
    clock,
    onEndedUsed: (session, request) => noteEndedSession({ store, audit, log }, session, request.ip),
  });
  const csrf = createCsrf({ keyring, cookies, publicUrl });
  const passwords = createPasswords();
  const { jackfield, env, egress, publicOrigin } = options;
  const people = openPeople({ store, audit, sessions, passwords, other: options.otherAccess, clock });
  const changed = (personId: string) => options.otherAccess.changed(personId);
  return {
    ...people,
    providers: createProviders({ jackfield, env, egress, publicUrl: publicOrigin, clock }),
    attempts: createExternalAttempts({ store, keyring, clock }),
    external: createExternalSignIn({ ...people, store, audit, changed, clock }),
    limiter,
    publicOrigin,
    changed,
    cookies,
    csrf,
    pages: createPages({ sessions, csrf, origins }),
    sessions,
    signIn: createSignIn({ store, passwords, limiter, audit, log }),
    passwords,
    store,
    audit,
    clock,
    log,
    anybody: async () => (await store.models.people.count({ where: { disabledAt: null } })) > 0,
  };
}
