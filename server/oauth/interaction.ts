/**
 * The page between an authorization request and its answer: who signs in, and whether this client may. One interaction
 * answers both, so that it is the person at this browser now who is asked, and nothing the library remembers.
 */
import type { Request, Response } from "express";
import { setPageHeaders } from "../admin/headers.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import type { Audit } from "../observe/audit.ts";
import type { Scope } from "../people/principal.ts";
import { noteOAuth, type OAuthEvent } from "./audit.ts";
import { clientKeyOf } from "./clients.ts";
import { describeQuestion, type ToolCounts } from "./consent-question.ts";
import type { ConsentQuestion, Consents } from "./consents.ts";
import type { Grants } from "./grants.ts";
import { GRANT_SECONDS, PATHS } from "./provider.ts";
import { type Question, type QuestionParts, questionOf } from "./question.ts";
import { OFFLINE_ACCESS } from "./scopes.ts";
import { grantKeyOf } from "./storage.ts";

export interface InteractionParts extends QuestionParts {
  readonly audit: Audit;
  readonly consents: Consents;
  readonly grants: Grants;
  readonly toolCounts: (endpoint: ServedEndpoint) => ToolCounts;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Shows the question, or answers at once what the person allowed before. */
export async function showConsent(parts: InteractionParts, request: Request, response: Response): Promise<void> {
  const question = await askable(parts, request, response);
  if (question === undefined) return;
  // Any program can claim to be a native client (RFC 8252 section 8.6), so that its person is asked each time.
  const silent = !question.client.native && !/\b(?:consent|login)\b/.test(question.prompt);
  if (silent && (await parts.consents.remembers(consentOf(question), question.scopes))) {
    note(parts, question, "consent_remembered", question.scopes);
    return allow(parts, question, question.scopes, request, response);
  }
  renderQuestion(parts, question, request, response);
}

/** Takes the answer. The form's token was checked before. */
export async function sendConsent(parts: InteractionParts, request: Request, response: Response): Promise<void> {
  const question = await askable(parts, request, response);
  if (question === undefined) return noteForeignAnswer(parts, request);
  const { decision, scope }: { decision?: unknown; scope?: unknown } = request.body ?? {};
  if (decision !== "allow") {
    note(parts, question, "consent_denied", question.scopes);
    setPageHeaders(response, "away");
    const denial = { error: "access_denied", error_description: "the person did not allow it" };
    const provider = await parts.provider();
    return provider.interactionFinished(request, response, denial);
  }
  const chosen = new Set([scope].flat());
  const granted = question.scopes.filter((one) => chosen.has(one));
  if (granted.length === 0) {
    return renderQuestion(parts, question, request, response, "Choose at least one thing that it may do, or deny it.");
  }
  note(parts, question, "consent_allowed", granted);
  if (!question.client.native) await parts.consents.remember(consentOf(question), granted);
  await allow(parts, question, granted, request, response);
}

/** Somebody answers what was not asked in their browser: it is too old, or another person's. */
async function noteForeignAnswer({ pages, audit }: InteractionParts, request: Request): Promise<void> {
  const signedIn = await pages.personOf(request);
  if (signedIn === undefined) return;
  const { id: personId, name: personName } = signedIn.person;
  for (const organizationId of signedIn.organizationIds) {
    const subject = { organizationId, personId, personName, endpointId: null, clientId: "" };
    noteOAuth(audit, "foreign_answer", subject, "an answer to a question that is not open in this browser");
  }
}

/** The question, where this person may be asked it; to anybody else the endpoint does not exist. */
async function askable(parts: InteractionParts, request: Request, response: Response): Promise<Question | undefined> {
  const found = await questionOf(parts, request, response);
  if (found === undefined || !("refused" in found)) return found;
  const { resource, signedIn } = found.refused;
  note(parts, found.refused, "endpoint_refused", found.refused.scopes);
  parts.pages.renderMessage(response, {
    status: 404,
    title: "There is no such endpoint for you",
    text: `${resource} does not exist, or ${signedIn.person.name} may not use it. An admin can tell which, and say who uses it. With another account: sign out, then start again in your client.`,
    action: { label: "Use another account", href: "/sign-out" },
  });
  return undefined;
}

/** Keeps what was allowed and lets the library answer the client. */
async function allow(
  parts: InteractionParts,
  question: Question,
  granted: readonly Scope[],
  request: Request,
  response: Response,
): Promise<void> {
  const provider = await parts.provider();
  const { client, signedIn, endpoint, resource, scopes } = question;
  const { clientId } = client;
  const accountId = signedIn.person.id;
  const grant = new provider.Grant({ accountId, clientId });
  // Scopes of the resource count as scopes of the server, too: one that is in neither list is asked for for ever.
  grant.addResourceScope(resource, [...granted]);
  grant.addOIDCScope([...granted, ...(question.offline ? [OFFLINE_ACCESS] : [])]);
  const refused = scopes.filter((scope) => !granted.includes(scope));
  if (refused.length > 0) {
    grant.rejectResourceScope(resource, refused);
    grant.rejectOIDCScope(refused);
  }
  const grantId = await grant.save();
  await parts.grants.add({
    grantKey: grantKeyOf(grantId),
    organizationId: endpoint.organizationId,
    endpointId: endpoint.id,
    personId: accountId,
    clientKey: clientKeyOf(clientId),
    clientId,
    clientName: client.name ?? "",
    resource,
    redirectUri: question.redirectUri,
    scopes: granted.join(" "),
    identityId: signedIn.session.identityId,
    expiresAt: new Date(parts.clock() + GRANT_SECONDS * 1000),
  });
  await parts.clients.authorized(clientId);
  setPageHeaders(response, "away");
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } });
}

function renderQuestion(
  parts: InteractionParts,
  question: Question,
  request: Request,
  response: Response,
  problem?: string,
): void {
  const { client, redirectUri, scopes, organization, endpoint, signedIn } = question;
  const counts = parts.toolCounts(endpoint);
  const view = describeQuestion(client, redirectUri, scopes, counts, organization, parts.clock());
  parts.pages.render(response, {
    view: "consent",
    title: `${problem === undefined ? "" : "Error: "}Allow ${view.clientName}`,
    status: problem === undefined ? 200 : 422,
    // The answer to the form redirects to the client, and browsers apply form-action to that, too.
    forms: "away",
    wide: true,
    data: {
      ...view,
      problem,
      organization,
      endpoint: endpoint.label,
      person: signedIn.person.name,
      username: signedIn.person.username,
      action: `${PATHS.interaction}/${request.params["uid"]}`,
      csrf: parts.pages.csrfToken(request, response),
    },
  });
}

function consentOf({ signedIn, client, redirectUri, endpoint }: Question): ConsentQuestion {
  return { personId: signedIn.person.id, clientId: client.clientId, redirectUri, endpointId: endpoint.id };
}

function note({ audit }: InteractionParts, question: Question, event: OAuthEvent, scopes: readonly Scope[]): void {
  const { signedIn, endpoint, client, redirectUri } = question;
  const subject = {
    organizationId: endpoint.organizationId,
    personId: signedIn.person.id,
    personName: signedIn.person.name,
    endpointId: endpoint.id,
    endpointSlug: endpoint.slug,
    clientId: client.clientId,
  };
  noteOAuth(audit, event, subject, `${client.name ?? client.clientId}, ${scopes.join(" ")}, answer to ${redirectUri}`);
}
