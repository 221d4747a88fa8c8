/**
 * `/connections/callback`: the browser comes back with an answer. Nothing in it is believed, shown or sent on before
 * it is known that it belongs to this browser, to this person and to the authorization server that was asked.
 */
import { validateAuthorizationResponseIssuer } from "@modelcontextprotocol/client";
import type { Request, Response } from "express";
import type { Log } from "../../adapters/contract.ts";
import type { ServedConnection } from "../connections/types.ts";
import type { Accounts } from "./accounts.ts";
import type { AppFlow } from "./app-flow.ts";
import type { Attempt, Attempts, Flow, Outcome } from "./attempts.ts";
import { CALLBACK_PATH } from "./client-metadata.ts";
import { exchangeCode } from "./exchange.ts";
import type { SignInPages } from "./pages.ts";
import { bounded, SignInProblem } from "./problem.ts";
import type { Registrations } from "./registration.ts";

/** What an answer may say (RFC 6749, 4.1.2; RFC 9207). Everything else in it is dropped. */
const PARAMETERS = ["state", "code", "iss", "error"] as const;
type Answer = Partial<Record<(typeof PARAMETERS)[number], string>>;

export interface CallbackParts {
  readonly attempts: Attempts;
  readonly accounts: Pick<Accounts, "save">;
  readonly registrations: Registrations;
  readonly pages: SignInPages;
  readonly publicUrl: () => string;
  readonly connection: (id: string) => ServedConnection | undefined;
  /** Reaches what the connection names. */
  readonly named: (connection: ServedConnection) => Promise<typeof fetch>;
  readonly app: AppFlow;
  /** Called once the account is there. */
  readonly connected: (connection: ServedConnection) => void;
  readonly log: Log;
}

/**
 * A POST (`response_mode=form_post`) carries no SameSite=Lax cookie, so that we could not tell whose browser it is:
 * the browser is sent to the same address with GET, and brings it along.
 */
export function renavigate({ pages, publicUrl }: Pick<CallbackParts, "pages" | "publicUrl">) {
  return (request: Request, response: Response): void => {
    const answer = answerOf(request.body);
    const url = new URL(publicUrl() + pathOf(request));
    for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
    pages.redirect(response, url.href);
  };
}

/** Takes an answer. Every end is a page that says what happened and what to do. */
export async function takeAnswer(parts: CallbackParts, request: Request, response: Response): Promise<void> {
  const { attempts, pages } = parts;
  const answer = answerOf(request.query);
  const attempt = answer.state === undefined ? undefined : await attempts.ofState(answer.state);
  if (!attempt) return pages.show(response, UNKNOWN);
  if (!attempts.isOfBrowser(attempt, pages.browserOf(request))) return pages.show(response, OTHER_BROWSER);
  const who = await pages.personOf(request);
  if (who?.person.id !== attempt.personId) return pages.show(response, OTHER_PERSON);
  const connection = parts.connection(attempt.connectionId);
  const label = connection?.label ?? "the connection";
  if (attempt.state !== "pending") return showEnd(parts, attempt.id, label, response);
  if (attempts.isOver(attempt)) return pages.show(response, EXPIRED);
  if (attempt.redirectUri !== parts.publicUrl() + pathOf(request)) return pages.show(response, MIXED_UP);

  const flow = attempts.flow(attempt);
  if (!isFromIssuer(flow, answer.iss)) {
    parts.log.warn({ connection: connection?.slug }, "an answer named another authorization server");
    await attempts.finish(attempt, { state: "failed", code: "issuer_mismatch", text: MIXED_UP.text });
    return pages.show(response, MIXED_UP);
  }
  // Of any number of answers one gets past this line.
  if (!(await attempts.claim(attempt))) return showEnd(parts, attempt.id, label, response);
  const outcome = await redeem(parts, attempt, flow, answer, connection);
  await attempts.finish(attempt, outcome);
  if (outcome.state === "connected" && connection) parts.connected(connection);
  return showOutcome(parts, outcome, label, response);
}

/** RFC 9207, 2.4: compared as it stands, without any normalisation. */
function isFromIssuer(flow: Flow, iss: string | undefined): boolean {
  try {
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: flow.issuer,
      issParameterSupported: flow.namesItself,
    });
    return true;
  } catch {
    return false;
  }
}

async function redeem(
  parts: CallbackParts,
  attempt: Attempt,
  flow: Flow,
  answer: Answer,
  connection: ServedConnection | undefined,
): Promise<Outcome> {
  try {
    if (!connection) throw new SignInProblem("not_oauth", "The connection is not served any more. Nothing was stored.");
    if (answer.error !== undefined) throw refusedBy(answer.error, connection);
    if (answer.code === undefined) {
      throw new SignInProblem("code_missing", `${connection.label} answered without a code. Start again.`);
    }
    const redirectUri = attempt.redirectUri ?? "";
    const named = await parts.named(connection);
    const tokens =
      flow.oauthApp === undefined
        ? await exchangeCode(
            parts.registrations,
            { connection, flow, redirectUri, ...answer, code: answer.code },
            named,
          )
        : await parts.app.redeem(connection, flow, answer.code, redirectUri);
    const { principal, registrationId, oauthApp, resource, revocationEndpoint } = flow;
    await parts.accounts.save({
      organizationId: attempt.organizationId,
      connectionId: attempt.connectionId,
      principal,
      authorizationServer: flow.issuer,
      tokenEndpoint: flow.tokenEndpoint,
      ...(registrationId === undefined ? {} : { registrationId }),
      ...(oauthApp === undefined ? {} : { oauthApp }),
      ...(revocationEndpoint === undefined ? {} : { revocationEndpoint }),
      boundResource: flow.boundResource,
      ...(resource === undefined ? {} : { resource }),
      scopesAsked: flow.scopes,
      tokens,
      ...(attempt.personId === null ? {} : { connectedBy: attempt.personId }),
    });
    return { state: "connected", code: "connected", text: "" };
  } catch (error) {
    const problem = error instanceof SignInProblem ? error : undefined;
    const { code = "internal", detail = bounded(String(error)) } = problem ?? {};
    parts.log.warn({ connection: connection?.slug, code, reason: detail }, "a sign-in to a connection failed");
    const text = "Something broke on the server, so nothing was stored. Start again; its log says what it was.";
    return { state: "failed", code, text: problem?.message ?? text };
  }
}

function refusedBy(error: string, { label }: ServedConnection): SignInProblem {
  if (error === "access_denied") {
    const text = `The sign-in to ${label} was declined there, so nothing was stored. Start again to allow it.`;
    return new SignInProblem("denied", text);
  }
  // Anybody can write this text into a link; only what can be a code of RFC 6749 is repeated.
  const code = /^[a-z_]{1,40}$/.test(error) ? error : "unknown error";
  return new SignInProblem(
    "provider_error",
    `${label} ended the sign-in with ${code}. Start again; if it stays so, check the connection's scopes and client, or tell whoever runs the service.`,
  );
}

async function showEnd(parts: CallbackParts, id: string, label: string, response: Response): Promise<void> {
  const attempt = await parts.attempts.find(id);
  const { state, outcomeCode, outcomeText } = attempt ?? {};
  if (state === "connected" || state === "failed") {
    return showOutcome(parts, { state, code: outcomeCode ?? "", text: outcomeText ?? "" }, label, response);
  }
  parts.pages.show(response, { status: 202, title: "The sign-in is being finished", text: "Load this page again." });
}

function showOutcome({ pages }: CallbackParts, outcome: Outcome, label: string, response: Response): void {
  if (outcome.state === "connected") {
    const text = "You can close this page and go on where you came from.";
    pages.show(response, { status: 200, title: `${label} is connected`, text });
  } else pages.show(response, { status: 400, title: `${label} was not connected`, text: outcome.text });
}

/** A parameter that comes twice is none (RFC 6749, 3.1). */
function answerOf(source: unknown): Answer {
  const answer: Answer = {};
  if (typeof source !== "object" || source === null) return answer;
  for (const name of PARAMETERS) {
    const value: unknown = Object.hasOwn(source, name) ? Reflect.get(source, name) : undefined;
    if (typeof value === "string" && value !== "" && value.length <= 4096) answer[name] = value;
  }
  return answer;
}

function pathOf(request: Request): string {
  const { registration } = request.params;
  return typeof registration === "string" ? `${CALLBACK_PATH}/${registration}` : CALLBACK_PATH;
}

const AGAIN = "Start again from where you came.";
const UNKNOWN = {
  status: 400,
  title: "This sign-in is not known here",
  text: `It is too old, or was finished long ago. Nothing was stored. ${AGAIN}`,
};
const OTHER_BROWSER = {
  status: 400,
  title: "Finish in the browser that started",
  text: "This sign-in was started in another browser, or its cookie is gone. Nothing was stored. Open the link again in the browser in which you want to finish.",
};
const OTHER_PERSON = {
  status: 403,
  title: "Someone else started this sign-in",
  text: "You are not signed in here as the person who started it. Nothing was stored. Sign in as that person, or start again yourself.",
};
const EXPIRED = {
  status: 400,
  title: "This sign-in took too long",
  text: `A sign-in must be finished within ten minutes. Nothing was stored. ${AGAIN}`,
};
const MIXED_UP = {
  status: 400,
  title: "This answer came from somewhere else",
  text: "The answer does not come from the service that was asked. Nothing was stored and nothing was sent to anybody. Start again; if it happens again, tell the operator: someone may be interfering.",
};
