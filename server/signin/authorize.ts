/**
 * The two doors to a sign-in: `/connections/authorize`, which a program asks how things stand, and
 * `/connections/sign-in`, which a person opens. The first makes at most an offer; the second checks who opens it.
 */
import type { Request, Response } from "express";
import type { Log } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import { PEOPLE_ISSUER, personKey } from "../people/people.ts";
import { may } from "../people/permissions.ts";
import type { Principal } from "../people/principal.ts";
import type { SignedIn } from "../people/web-sessions.ts";
import { type Attempts, randomValue } from "./attempts.ts";
import type { SignInPages } from "./pages.ts";
import { SignInProblem } from "./problem.ts";
import { begin, type StartParts } from "./start.ts";
import { type AccountPrincipal, SIGN_IN_PATH, type Ticket, type Tickets } from "./ticket.ts";
import { DEPLOYMENT_KEY } from "./types.ts";
import type { Asking } from "./visible.ts";

export type { AccountPrincipal } from "./ticket.ts";

/** Whose the deployment's own accounts are. */
export const DEPLOYMENT: AccountPrincipal = { key: DEPLOYMENT_KEY, issuer: "", subject: "" };

export type AuthorizeStatus =
  | { readonly status: "authorize"; readonly url: string }
  | { readonly status: "connected" }
  | { readonly status: "unavailable"; readonly reason: string };

export interface LinkParts {
  readonly attempts: Attempts;
  /** Whether the principal's account can be used as it is, and the service has asked for no further scopes. */
  readonly settled: (connection: ServedConnection, principalKey: string) => Promise<boolean>;
  readonly tickets: Tickets;
  readonly publicUrl: () => string;
}

/** Whose account of a connection a principal uses: its own, or the deployment's. */
export function accountPrincipal(
  connection: Pick<ServedConnection, "subject">,
  { key, issuer, subject }: AccountPrincipal,
): AccountPrincipal {
  return connection.subject === "user" ? { key, issuer, subject } : DEPLOYMENT;
}

/** A link to our own page that carries a sealed ticket and makes nothing. @param principal absent: whoever opens it */
export function signInUrl(
  { tickets, publicUrl }: Pick<LinkParts, "tickets" | "publicUrl">,
  connection: ServedConnection,
  principal: AccountPrincipal | undefined,
): string {
  const whose =
    principal === undefined && connection.subject === "user"
      ? undefined
      : accountPrincipal(connection, principal ?? DEPLOYMENT);
  return linkOf(publicUrl(), tickets.make({ connectionId: connection.id, ...(whose ? { principal: whose } : {}) }));
}

/** How things stand; asking again while nobody has opened the link gives the same link. */
export async function authorizeStatus(
  { attempts, settled, tickets, publicUrl }: LinkParts,
  connection: ServedConnection,
  caller: AccountPrincipal,
): Promise<AuthorizeStatus> {
  const reason = whyNoSignIn(connection);
  if (reason !== undefined) return { status: "unavailable", reason };
  const principal = accountPrincipal(connection, caller);
  if (await settled(connection, principal.key)) return { status: "connected" };
  const { id: connectionId, organizationId } = connection;
  const ticket = await attempts.offer({ organizationId, connectionId, principalKey: principal.key }, (attemptId) =>
    tickets.make({ connectionId, principal, attemptId }),
  );
  return { status: "authorize", url: linkOf(publicUrl(), ticket) };
}

/** Why nobody signs in to a connection; undefined where one does. */
export function whyNoSignIn({ label, slug, credential, auth, state }: ServedConnection): string | undefined {
  if (state === "disabled") return `${label} is switched off.`;
  switch (auth.method) {
    case "oauth":
      return undefined;
    case "none":
      return `${label} needs no sign-in.`;
    default:
      return `${label} is not signed in to: an administrator stores its secret with: credential set ${credential ?? slug}.`;
  }
}

export interface AuthorizeParts extends LinkParts {
  /** Who a bearer token stands for. */
  readonly verify: (token: string, ip: string | undefined) => Promise<Principal | undefined>;
  readonly pages: SignInPages;
  /** The connection a caller means, of those it can see. */
  readonly find: (slug: string, asking: Asking) => ServedConnection | undefined;
}

const BEARER = /^Bearer +([^\s]+) *$/i;

/** `GET /connections/authorize?connection=`: for programs with a token, and for people in a browser. */
export async function serveAuthorize(parts: AuthorizeParts, request: Request, response: Response): Promise<void> {
  response.set("cache-control", "no-store");
  const { connection: slug, organization } = request.query;
  const { authorization } = request.headers;
  const token = BEARER.exec(authorization ?? "")?.[1];
  const principal = token === undefined ? undefined : await parts.verify(token, request.ip);
  const person = authorization === undefined ? await parts.pages.personOf(request) : undefined;
  if (!principal && !person) {
    const text = "Send an agent's bearer token, or sign in at /sign-in first.";
    response.status(401).set("www-authenticate", 'Bearer realm="jackfield"').json({ error: "unauthorized", text });
    return;
  }
  const caller: Asking = principal
    ? { principal }
    : { person: person!, organization: typeof organization === "string" ? organization : undefined };
  const connection = typeof slug === "string" ? parts.find(slug, caller) : undefined;
  if (!connection) {
    response.status(404).json({ error: "not_found", text: "There is no such connection. Name it with ?connection=." });
    return;
  }
  const status = await statusFor(parts, connection, principal, person);
  response.status(status.status === "unavailable" ? 409 : 200).json(status);
}

async function statusFor(
  parts: AuthorizeParts,
  connection: ServedConnection,
  principal: Principal | undefined,
  person: SignedIn | undefined,
): Promise<AuthorizeStatus> {
  const whose = principal ?? personPrincipal(person!.person.id);
  const status = await authorizeStatus(parts, connection, whose);
  const refused = person === undefined ? undefined : refusalOf(connection, accountPrincipal(connection, whose), person);
  return status.status === "authorize" && refused !== undefined ? { status: "unavailable", reason: refused } : status;
}

export interface SignInParts extends AuthorizeParts {
  readonly start: StartParts;
  readonly connection: (id: string) => ServedConnection | undefined;
  readonly log: Log;
}

/** `GET /connections/sign-in?ticket=`: checks who opens it, starts the attempt and sends the browser on. */
export async function openSignIn(parts: SignInParts, request: Request, response: Response): Promise<void> {
  const { pages, tickets } = parts;
  const text = request.query["ticket"];
  const ticket = typeof text === "string" ? tickets.read(text) : undefined;
  const connection = ticket && parts.connection(ticket.connectionId);
  if (!ticket || !connection || !(await isStillOffered(parts, ticket))) return pages.show(response, NO_LINK);
  const who = await pages.requirePerson(request, response);
  if (!who) return;
  const principal = ticket.principal ?? accountPrincipal(connection, personPrincipal(who.person.id));
  const refused = whyNoSignIn(connection) ?? refusalOf(connection, principal, who);
  if (refused !== undefined) {
    return pages.show(response, { status: 403, title: `You cannot sign ${connection.label} in`, text: refused });
  }
  const browser = pages.browserOf(request) ?? randomValue();
  try {
    const { url } = await begin(parts.start, { connection, principal, personId: who.person.id, browser });
    pages.markBrowser(response, browser);
    pages.redirect(response, url);
  } catch (error) {
    if (!(error instanceof SignInProblem)) throw error;
    parts.log.warn(
      { connection: connection.slug, code: error.code, reason: error.detail },
      "a sign-in to a connection could not begin",
    );
    pages.show(response, { status: 502, title: `${connection.label} cannot be signed in now`, text: error.message });
  }
}

async function isStillOffered({ attempts }: LinkParts, { attemptId }: Ticket): Promise<boolean> {
  if (attemptId === undefined) return true;
  const attempt = await attempts.find(attemptId);
  return attempt?.state === "offered" && !attempts.isOver(attempt);
}

/** Why this person may not sign this account in; undefined where they may. */
function refusalOf(connection: ServedConnection, principal: AccountPrincipal, who: SignedIn): string | undefined {
  const role = who.role(connection.organizationId);
  if (role === undefined) return `You do not belong to the organization of ${connection.label}. Ask its administrator.`;
  if (principal.issuer === PEOPLE_ISSUER) {
    if (principal.subject === who.person.id) return undefined;
    return "This link is for another person's account. Ask for one of your own, or sign in here as that person.";
  }
  if (may(role, "connections:write")) return undefined;
  return `The account of ${connection.label} is not yours alone. Someone who may change connections (an administrator) must sign in to it.`;
}

function personPrincipal(personId: string): AccountPrincipal {
  return { key: personKey(personId), issuer: PEOPLE_ISSUER, subject: personId };
}

function linkOf(publicUrl: string, ticket: string): string {
  return `${publicUrl}${SIGN_IN_PATH}?ticket=${ticket}`;
}

const NO_LINK = {
  status: 400,
  title: "This link does not work any more",
  text: "A sign-in link works for a while and for one sign-in. Ask for a new one where you got it: call the tool again, or run connection authorize.",
};
