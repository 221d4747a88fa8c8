/** The page on which a person allows a connected client one thing more, reached by the link of a refused call. */
import type { Request, Response } from "express";
import { mayUseEndpoint } from "../access/principals.ts";
import { organizationLabel, type Pages } from "../admin/pages.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import type { Audit } from "../observe/audit.ts";
import type { Scope } from "../people/principal.ts";
import type { SignedIn } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import type { OAuthGrantRow } from "../store/models/oauth-grants.ts";
import { noteOAuth, type OAuthEvent } from "./audit.ts";
import type { Clients } from "./clients.ts";
import { describeQuestion, type ToolCounts } from "./consent-question.ts";
import type { Consents } from "./consents.ts";
import type { Grants } from "./grants.ts";
import { readRedirect } from "./redirects.ts";
import type { Resources } from "./resources.ts";
import { impliedScopes, SCOPE_WORDS } from "./scopes.ts";
import { STEP_UP_PATH, type StepUps } from "./step-up.ts";

export interface StepUpPageParts {
  readonly pages: Pages;
  readonly store: Store;
  readonly audit: Audit;
  readonly clients: Clients;
  readonly consents: Consents;
  readonly grants: Grants;
  readonly resources: Resources;
  readonly stepUps: StepUps;
  readonly widen: (grant: OAuthGrantRow, scopes: readonly Scope[]) => Promise<boolean>;
  readonly toolCounts: (endpoint: ServedEndpoint) => ToolCounts;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

interface StepUpQuestion {
  readonly grant: OAuthGrantRow;
  readonly scope: Scope;
  readonly endpoint: ServedEndpoint;
  readonly signedIn: SignedIn;
}

/** `GET /oauth/step-up/:ticket` */
export async function showStepUp(parts: StepUpPageParts, request: Request, response: Response): Promise<void> {
  const question = await questionOf(parts, request, response);
  if (question !== undefined) await render(parts, question, request, response);
}

/** `POST /oauth/step-up/:ticket`. The form's token was checked before. */
export async function sendStepUp(parts: StepUpPageParts, request: Request, response: Response): Promise<void> {
  const question = await questionOf(parts, request, response);
  if (question === undefined) return;
  const { grant, scope, signedIn, endpoint } = question;
  const { decision, scope: ticked }: { decision?: unknown; scope?: unknown } = request.body ?? {};
  const name = nameOf(grant);
  if (decision !== "allow") {
    note(parts, question, "consent_denied", scope);
    return parts.pages.renderMessage(response, {
      status: 200,
      title: "Nothing was changed",
      text: `${name} may do what it could before, and no more. You can close this page.`,
    });
  }
  if (![ticked].flat().includes(scope)) {
    return render(parts, question, request, response, "Tick what it may do, or deny it.");
  }
  if (!(await parts.widen(grant, [scope]))) return parts.pages.renderMessage(response, NO_LINK);
  const { clientId, redirectUri } = grant;
  const consent = { personId: signedIn.person.id, clientId, redirectUri, endpointId: endpoint.id };
  await parts.consents.extend(consent, [scope]);
  note(parts, question, "consent_widened", scope);
  parts.pages.renderMessage(response, doneMessage(grant, scope));
}

/** Undefined where an answer was sent already: the way to the sign-in page, or why there is nothing to ask. */
async function questionOf(
  parts: StepUpPageParts,
  request: Request,
  response: Response,
): Promise<StepUpQuestion | undefined> {
  const { pages, grants, resources, stepUps } = parts;
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return undefined;
  const link = stepUps.read(String(request.params["ticket"]));
  const grant = link && (await grants.live(link.grantId));
  const endpoint = grant && resources.find(grant.resource);
  if (link === undefined || grant === undefined || endpoint?.id !== grant.endpointId) {
    pages.renderMessage(response, NO_LINK);
    return undefined;
  }
  const { scope } = link;
  const { person } = signedIn;
  const { organizationId } = grant;
  if (grant.personId !== person.id) {
    note(parts, { grant, scope, endpoint, signedIn }, "foreign_answer", scope);
    pages.renderMessage(response, {
      status: 403,
      title: "This is another person’s client",
      text: `You are signed in as ${person.username}. Whoever connected the client can allow it more, and nobody else.`,
      action: { label: "Use another account", href: "/sign-out" },
    });
    return undefined;
  }
  const { username } = person;
  const membership = { role: signedIn.role(organizationId), username, groups: signedIn.groups(organizationId) };
  if (!mayUseEndpoint(endpoint.config.principals, membership)) {
    note(parts, { grant, scope, endpoint, signedIn }, "endpoint_refused", scope);
    pages.renderMessage(response, NO_LINK);
    return undefined;
  }
  if (impliedScopes(grant.scopes).has(scope)) {
    pages.renderMessage(response, doneMessage(grant, scope));
    return undefined;
  }
  return { grant, scope, endpoint, signedIn };
}

async function render(
  { pages, store, clients, toolCounts, clock }: StepUpPageParts,
  { grant, scope, endpoint, signedIn }: StepUpQuestion,
  request: Request,
  response: Response,
  problem?: string,
): Promise<void> {
  const { clientId, redirectUri } = grant;
  const row = await clients.row(clientId);
  const redirect = readRedirect(redirectUri);
  const organization = organizationLabel(await store.models.organizations.findByPk(grant.organizationId));
  const client = {
    clientId,
    name: grant.clientName || undefined,
    native: !("problem" in redirect) && redirect.kind !== "web",
    document: row === undefined && clientId.startsWith("https://"),
    registeredAt: row?.createdAt,
  };
  const view = describeQuestion(client, redirectUri, [scope], toolCounts(endpoint), organization, clock());
  pages.render(response, {
    view: "consent",
    title: `${problem === undefined ? "" : "Error: "}Allow ${view.clientName} more`,
    status: problem === undefined ? 200 : 422,
    wide: true,
    data: {
      ...view,
      problem,
      organization,
      endpoint: endpoint.label,
      person: signedIn.person.name,
      username: signedIn.person.username,
      action: `${STEP_UP_PATH}/${request.params["ticket"]}`,
      csrf: pages.csrfToken(request, response),
      before: [...impliedScopes(grant.scopes)].map((one) => SCOPE_WORDS[one].title),
    },
  });
}

function nameOf({ clientName }: OAuthGrantRow): string {
  return clientName === "" ? "The client" : clientName;
}

function doneMessage(grant: OAuthGrantRow, scope: Scope) {
  const { title } = SCOPE_WORDS[scope];
  return {
    status: 200,
    title: `${nameOf(grant)} may do this now`,
    text: `It was allowed: ${title}. Go back to it and let it try again; it need not be connected anew. You can close this page.`,
    action: { label: "Connected clients", href: "/clients" },
  };
}

function note({ audit }: StepUpPageParts, question: StepUpQuestion, event: OAuthEvent, scope: Scope): void {
  const { grant, endpoint, signedIn } = question;
  const { id: personId, name: personName } = signedIn.person;
  const subject = {
    organizationId: grant.organizationId,
    ...{ personId, personName, endpointId: endpoint.id, endpointSlug: endpoint.slug },
    ...{ grantId: grant.id, clientId: grant.clientId },
  };
  noteOAuth(audit, event, subject, `${grant.clientName || grant.clientId}, more: ${scope}`);
}

const NO_LINK = {
  status: 400,
  title: "This link does not work any more",
  text: "It works for an hour, and while the client is connected. Let the client try again: it gets a new link.",
};
