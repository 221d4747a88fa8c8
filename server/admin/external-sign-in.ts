/** `/sign-in/with/<provider>`: signing in through another server, there and back. */
import { randomBytes } from "node:crypto";
import type { Request, Response } from "express";
import type { Log } from "../observe/log.ts";
import type { Cookies } from "../people/cookies.ts";
import {
  EXTERNAL_MS,
  type ExternalAttempt,
  type ExternalAttempts,
  type NewAttempt,
} from "../people/external-attempts.ts";
import type { ExternalSignIn, Refusal } from "../people/external-sign-in.ts";
import { networkOf } from "../people/network.ts";
import type { OneTimeLinks } from "../people/one-time-links.ts";
import { type SignInProvider, SignInRefused } from "../people/providers/provider.ts";
import { callbackPath, type Providers } from "../people/providers/providers.ts";
import type { WebSessions } from "../people/web-sessions.ts";
import type { Limiter } from "../shared-state/contract.ts";
import { setPageHeaders } from "./headers.ts";
import { fieldOf, type Message, type Pages } from "./pages.ts";
import { askAgain, isRecent } from "./recent.ts";
import { ownPath } from "./return-to.ts";

export interface ExternalPageParts {
  readonly pages: Pages;
  readonly cookies: Cookies;
  readonly sessions: WebSessions;
  readonly providers: Providers;
  readonly attempts: ExternalAttempts;
  readonly external: ExternalSignIn;
  readonly links: OneTimeLinks;
  readonly limiter: Limiter;
  readonly log: Log;
  readonly clock: () => number;
}

/** Answers that were not good from one network; good ones are given back. */
const ANSWERS = { points: 30, perMs: 15 * 60_000 };
/** Ways begun from one network: each keeps a row for ten minutes. */
const BEGUN = { points: 60, perMs: 15 * 60_000 };
/** Assertions are a few kilobytes; with many groups some dozens. */
const LONGEST_ANSWER = 400_000;

/** Begins: the form of a button. `for` says why: to sign in, to link an identity, to take an invitation. */
export async function startExternal(parts: ExternalPageParts, request: Request, response: Response): Promise<void> {
  const { pages, cookies, attempts, limiter, log } = parts;
  const provider = providerOf(parts, request);
  if (provider === undefined) return pages.renderMessage(response, NO_PROVIDER);
  const limited = await limiter.consume(`sign-in:begin:${networkOf(request.ip)}`, BEGUN);
  if (!limited.allowed) return pages.renderMessage(response, TOO_MANY);
  const attempt = await attemptFor(parts, provider, request, response);
  if (attempt === undefined) return;
  const browser = cookies.read(request, "external") ?? randomBytes(32).toString("base64url");
  const state = attempts.newState();
  try {
    const { url, session } = await provider.begin(state);
    await attempts.begin(attempt, state, browser, session);
    response.append("set-cookie", cookies.write("external", browser, EXTERNAL_MS));
    goTo(response, url);
  } catch (error) {
    log.error({ provider: provider.file.id, reason: String(error) }, "a sign-in at another server could not begin");
    pages.renderMessage(response, unreachable(provider));
  }
}

/** What is to come of it; undefined where the answer has been sent. */
async function attemptFor(
  { pages, links, clock }: ExternalPageParts,
  provider: SignInProvider,
  request: Request,
  response: Response,
): Promise<NewAttempt | undefined> {
  const id = provider.file.id;
  const purpose = fieldOf(request.body, "for");
  if (purpose === "link") {
    const signedIn = await pages.requirePerson(request, response);
    if (signedIn === undefined) return undefined;
    // Whoever finds a browser open must not be able to add their own way in.
    if (!isRecent(signedIn, clock())) return askAgain(response, "/account");
    return { provider: id, purpose, personId: signedIn.person.id, returnTo: "/account" };
  }
  if (purpose === "invite") {
    const invitation = await links.find(fieldOf(request.body, "invitation"));
    if (invitation?.kind === "invite") return { provider: id, purpose, linkId: invitation.id, returnTo: "/" };
    pages.renderMessage(response, LINK_ENDED);
    return undefined;
  }
  return { provider: id, purpose: "sign_in", returnTo: ownPath(fieldOf(request.body, "returnTo")) };
}

/**
 * Takes a posted answer (SAML). It comes from another site, so that our cookies are not with it: it is kept, and the
 * browser sent for it again with a request that has them. What is posted decides nothing but that.
 */
export async function keepExternalAnswer(
  parts: ExternalPageParts,
  request: Request,
  response: Response,
): Promise<void> {
  const { pages, attempts, external } = parts;
  const provider = providerOf(parts, request);
  const state = fieldOf(request.body, "RelayState");
  const answer = fieldOf(request.body, "SAMLResponse");
  const attempt = await attempts.find(state);
  if (attempt === undefined || provider === undefined) return pages.renderMessage(response, UNKNOWN);
  if (answer === "" || answer.length > LONGEST_ANSWER || provider.file.type !== "saml") {
    return pages.renderMessage(response, UNKNOWN);
  }
  if (attempt.provider !== provider.file.id) return mixedUp(parts, provider, response);
  if (!(await attempts.keepAnswer(state, answer))) {
    if (await overLimit(parts, request, response)) return;
    await external.noteRefused(provider, "an answer was sent again");
    return pages.renderMessage(response, USED);
  }
  setPageHeaders(response, "own");
  response.redirect(303, `${callbackPath(provider.file.id)}?${new URLSearchParams({ RelayState: state })}`);
}

/** Takes the answer that the browser brings back. */
export async function finishExternal(parts: ExternalPageParts, request: Request, response: Response): Promise<void> {
  const { pages, cookies, attempts, external, limiter } = parts;
  const provider = providerOf(parts, request);
  const query = new URL(request.originalUrl, "http://here").searchParams;
  const state = query.get(provider?.file.type === "saml" ? "RelayState" : "state") ?? "";
  const attempt = await attempts.find(state);
  if (attempt === undefined || provider === undefined) return pages.renderMessage(response, UNKNOWN);
  if (await overLimit(parts, request, response)) return;
  if (attempt.provider !== provider.file.id) return mixedUp(parts, provider, response);
  if (!(await attempts.beganIn(state, cookies.read(request, "external")))) {
    // Somebody would sign this browser in as themself, or brings what they saw on the way of another one.
    await external.noteRefused(provider, "the answer came back in another browser than the one that began");
    return pages.renderMessage(response, OTHER_BROWSER);
  }
  const claimed = await attempts.claim(state);
  if (claimed === undefined) {
    await external.noteRefused(provider, "an answer was sent again");
    return pages.renderMessage(response, USED);
  }
  const answer = claimed.answer === undefined ? query : new URLSearchParams({ SAMLResponse: claimed.answer });
  await enter(parts, { attempt, provider, answer, session: claimed.session }, request, response);
  if (response.statusCode < 400) await limiter.refund(answersKey(request));
}

async function enter(
  { pages, sessions, external, log }: ExternalPageParts,
  way: {
    attempt: ExternalAttempt;
    provider: SignInProvider;
    answer: URLSearchParams;
    session: Parameters<SignInProvider["finish"]>[1];
  },
  request: Request,
  response: Response,
): Promise<void> {
  const { attempt, provider } = way;
  if (attempt.purpose === "link" && (await sessions.personOf(request))?.person.id !== attempt.personId) {
    await external.noteRefused(provider, "somebody else is signed in by now");
    return pages.renderMessage(response, OTHER_PERSON);
  }
  try {
    const identity = await provider.finish(way.answer, way.session);
    const entered = await external.enter(attempt, provider, identity);
    if (entered.kind === "refused") return pages.renderMessage(response, refusedMessage(entered.why, provider));
    if (entered.kind === "in") {
      const by = { means: provider.file.id, identityId: entered.identityId };
      for (const cookie of await sessions.start(request, entered.person.id, by)) response.append("set-cookie", cookie);
    }
    goTo(response, attempt.returnTo);
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error;
    log.warn({ provider: provider.file.id, reason: error.reason }, "a sign-in at another server was refused");
    await external.noteRefused(provider, error.reason);
    pages.renderMessage(response, error.declined ? declined(provider) : notGood(provider));
  }
}

/** The document that describes us to the provider, where its protocol has one. */
export function showExternalMetadata(parts: ExternalPageParts, request: Request, response: Response): void {
  const metadata = providerOf(parts, request)?.metadata?.();
  if (metadata === undefined) {
    parts.pages.renderMessage(response, NO_PROVIDER);
    return;
  }
  setPageHeaders(response, "own");
  response.type("application/samlmetadata+xml").send(metadata);
}

function providerOf({ providers }: ExternalPageParts, request: Request): SignInProvider | undefined {
  const { provider } = request.params;
  return typeof provider === "string" ? providers.get(provider) : undefined;
}

function answersKey(request: Request): string {
  return `sign-in:answer:${networkOf(request.ip)}`;
}

async function overLimit(
  { pages, limiter }: ExternalPageParts,
  request: Request,
  response: Response,
): Promise<boolean> {
  const { allowed } = await limiter.consume(answersKey(request), ANSWERS);
  if (!allowed) pages.renderMessage(response, TOO_MANY);
  return !allowed;
}

async function mixedUp(
  { pages, external }: ExternalPageParts,
  provider: SignInProvider,
  response: Response,
): Promise<void> {
  await external.noteRefused(provider, "the answer belongs to a sign-in at another provider");
  pages.renderMessage(response, notGood(provider));
}

function goTo(response: Response, url: string): void {
  setPageHeaders(response, "away");
  response.redirect(303, url);
}

const AGAIN = { label: "Go to sign-in", href: "/sign-in" };

const NO_PROVIDER: Message = {
  status: 404,
  title: "There is no such way to sign in",
  text: "It was set up once, perhaps, and is not any more. The sign-in page shows those there are.",
  action: AGAIN,
};
const TOO_MANY: Message = {
  status: 429,
  title: "Too many attempts",
  text: "From this network, in the last 15 minutes. Wait a little, then try again.",
};
const UNKNOWN: Message = {
  status: 400,
  title: "This sign-in has ended",
  text: "It took longer than ten minutes, or it did not begin here. Start again from the sign-in page.",
  action: AGAIN,
};
const USED: Message = {
  status: 400,
  title: "This sign-in was used already",
  text: "An answer of another server works once. If you are not signed in, start again.",
  action: AGAIN,
};
const OTHER_BROWSER: Message = {
  status: 400,
  title: "This sign-in began in another browser",
  text: "Nobody was signed in. Start again in this browser; cookies must be allowed.",
  action: AGAIN,
};
const OTHER_PERSON: Message = {
  status: 403,
  title: "Somebody else is signed in by now",
  text: "Nothing was linked. Sign in as the person you want to link it to, then start again.",
  action: { label: "Go to your account", href: "/account" },
};
/** Also where an invitation is looked at that does not work any more. */
export const LINK_ENDED: Message = {
  status: 410,
  title: "This invitation does not work any more",
  text: "It was used, taken back, or is older than a week. Whoever sent it can make a new one.",
  action: AGAIN,
};

function unreachable({ label }: SignInProvider): Message {
  return {
    status: 502,
    title: `${label} cannot be reached`,
    text: "The sign-in could not begin. The server's log says why; try again later, or sign in in another way.",
    action: AGAIN,
  };
}

function notGood({ label }: SignInProvider): Message {
  return {
    status: 400,
    title: `The answer of ${label} was not accepted`,
    text: "Nobody was signed in. Start again; if it happens again, the audit and the server's log say what was wrong with it.",
    action: AGAIN,
  };
}

function declined({ label }: SignInProvider): Message {
  return { status: 403, title: "The sign-in was cancelled", text: `At ${label}, by you or by it.`, action: AGAIN };
}

function refusedMessage(why: Refusal, { label }: SignInProvider): Message {
  const status = 403;
  switch (why) {
    case "link_ended":
      return LINK_ENDED;
    case "taken":
      return {
        status,
        title: "This sign-in belongs to somebody else here",
        text: `Your account at ${label} is linked to another person. They can unlink it on their account page.`,
        action: { label: "Go to your account", href: "/account" },
      };
    case "disabled":
      return {
        status,
        title: "You do not have access any more",
        text: "An admin removed you. With a new invitation you can come back.",
      };
    case "stranger":
      return {
        status,
        title: "You have no account here",
        text: `${label} says who you are, but nobody here knows you. Ask an admin for an invitation, or, if you have an account here, sign in and link ${label} on your account page.`,
        action: AGAIN,
      };
  }
}
