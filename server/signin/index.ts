/** Signing in upstream, composed: what the rest of the server sees of its flow side. */
import type { Request, Response } from "express";
import type { Log } from "../../adapters/contract.ts";
import type { Registry } from "../connections/registry.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Principal } from "../people/principal.ts";
import type { Store } from "../store/database.ts";
import type { Keyring } from "../vault/keyring.ts";
import { createAppFlow } from "./app-flow.ts";
import { createAttempts } from "./attempts.ts";
import {
  type AuthorizeParts,
  type AuthorizeStatus,
  authorizeStatus,
  openSignIn,
  type SignInParts,
  serveAuthorize,
  signInUrl,
} from "./authorize.ts";
import { type CallbackParts, renavigate, takeAnswer } from "./callback.ts";
import { serveClientMetadata } from "./client-metadata.ts";
import { disconnect } from "./disconnect.ts";
import type { AccountsDesk } from "./open-accounts.ts";
import type { SignInPages } from "./pages.ts";
import { createReach, namedBy, type ReachOptions } from "./reach.ts";
import { type Beginning, begin, type StartParts } from "./start.ts";
import { type AccountPrincipal, createTickets } from "./ticket.ts";
import { visibleConnection } from "./visible.ts";

export type { AuthorizeStatus } from "./authorize.ts";
export { accountPrincipal, DEPLOYMENT } from "./authorize.ts";
export type { AccountPrincipal } from "./ticket.ts";

export interface SignInOptions extends ReachOptions {
  readonly desk: AccountsDesk;
  readonly store: Store;
  readonly keyring: Keyring;
  /** Origin under which browsers reach this server, without a closing slash. */
  readonly publicUrl: () => string;
  readonly registry: Pick<Registry, "connection" | "environments" | "draft">;
  readonly verify: AuthorizeParts["verify"];
  readonly pages: SignInPages;
  /** Called once an account is there, e.g. to read the connection's catalogue with it. */
  readonly onConnected: (connection: ServedConnection) => void;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

type Handler = (request: Request, response: Response) => void | Promise<void>;

export interface SignInFlow {
  /** See `signInUrl` of `authorize.ts`. */
  signInUrl(connection: ServedConnection, principal: AccountPrincipal | Principal): string;
  /** How things stand for a principal; at most an offer is made. */
  authorizeStatus(connection: ServedConnection, principal: AccountPrincipal | Principal): Promise<AuthorizeStatus>;
  /** @throws SignInProblem */
  begin(beginning: Beginning): Promise<{ url: string }>;
  /** Ends an account and revokes its tokens where that is offered. False where there was none. */
  disconnect(connection: ServedConnection, principalKey: string): Promise<boolean>;
  readonly routes: {
    readonly authorize: Handler;
    readonly open: Handler;
    readonly callback: Handler;
    readonly renavigate: Handler;
    readonly clientMetadata: Handler;
  };
}

export function createSignInFlow(options: SignInOptions): SignInFlow {
  const { store, keyring, egress, desk, publicUrl, pages, log, clock } = options;
  const { accounts, registrations } = desk;
  const attempts = createAttempts({ store, keyring, clock });
  const tickets = createTickets(keyring, clock);
  const links = { attempts, settled: desk.settled, tickets, publicUrl };
  const app = createAppFlow({ apps: desk.apps, publicUrl, fetch: egress.upstreamFetch, clock });

  const reach = createReach(options);

  const start: StartParts = { attempts, accounts, registrations, reach, app };
  const { verify, registry } = options;
  const connection = registry.connection;
  const find: AuthorizeParts["find"] = (slug, asking) => visibleConnection(registry, slug, asking);
  const doors: SignInParts = { ...links, start, connection, verify, find, pages, log };
  const callback: CallbackParts = {
    attempts,
    accounts,
    registrations,
    pages,
    publicUrl,
    connection,
    named: (of) => namedBy(egress, of),
    app,
    connected: options.onConnected,
    log,
  };
  const document = { publicUrl, documentRedirects: registrations.documentRedirects };

  return {
    signInUrl: (of, principal) => signInUrl(links, of, principal),
    authorizeStatus: (of, principal) => authorizeStatus(links, of, principal),
    begin: (beginning) => begin(start, beginning),
    disconnect: (of, principalKey) => disconnect({ ...desk, egress, clock, log }, { connection: of, principalKey }),
    routes: {
      authorize: (request, response) => serveAuthorize(doors, request, response),
      open: (request, response) => openSignIn(doors, request, response),
      callback: (request, response) => takeAnswer(callback, request, response),
      renavigate: renavigate(callback),
      clientMetadata: (request, response) => serveClientMetadata(document, request, response),
    },
  };
}
