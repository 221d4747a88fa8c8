/** What an authorization request asks of the person at this browser. */
import type { Request, Response } from "express";
import type Provider from "oidc-provider";
import { type ClientMetadata, errors } from "oidc-provider";
import { mayUseEndpoint } from "../access/principals.ts";
import { organizationLabel, type Pages } from "../admin/pages.ts";
import type { ServedEndpoint } from "../connections/types.ts";
import { parseScopes, SCOPES, type Scope } from "../people/principal.ts";
import type { SignedIn } from "../people/web-sessions.ts";
import type { Store } from "../store/database.ts";
import type { Clients } from "./clients.ts";
import type { AskingClient } from "./consent-question.ts";
import { errorMessage } from "./error-page.ts";
import { plainName } from "./registration-normaliser.ts";
import type { Resources } from "./resources.ts";
import { OFFLINE_ACCESS } from "./scopes.ts";

export interface Question {
  readonly client: AskingClient;
  readonly signedIn: SignedIn;
  readonly endpoint: ServedEndpoint;
  /** Name of the organization whose endpoint it is. */
  readonly organization: string;
  /** Canonical URL of the endpoint. */
  readonly resource: string;
  readonly redirectUri: string;
  readonly scopes: readonly Scope[];
  /** Whether `offline_access` was asked, too. */
  readonly offline: boolean;
  readonly prompt: string;
}

export interface QuestionParts {
  readonly provider: () => Promise<Provider>;
  readonly pages: Pages;
  readonly store: Store;
  readonly clients: Clients;
  readonly resources: Resources;
}

/** A question that this person need not be asked: the endpoint is not theirs. */
export interface Refused {
  readonly refused: Question;
}

/**
 * Reads the question of a request. Undefined where an answer was sent already: the way to the sign-in page, or what
 * is wrong. The library's cookie binds the question to the browser in which it started.
 */
export async function questionOf(
  parts: QuestionParts,
  request: Request,
  response: Response,
): Promise<Question | Refused | undefined> {
  const provider = await parts.provider();
  const details = await provider.interactionDetails(request, response).catch((error: unknown) => {
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  });
  if (details === undefined || details.uid !== request.params["uid"]) return ended(parts, response);
  const signedIn = await parts.pages.requirePerson(request, response);
  if (signedIn === undefined) return undefined;

  const text = (name: string): string => {
    const value = details.params[name];
    return typeof value === "string" ? value : "";
  };
  const client = await provider.Client.find(text("client_id"));
  // Several resources would mean several audiences; a token of ours has one.
  const endpoint = parts.resources.find(text("resource"));
  if (client === undefined || endpoint === undefined) return ended(parts, response);
  const organization = await parts.store.models.organizations.findByPk(endpoint.organizationId);
  const asked = parseScopes(text("scope"));
  const question: Question = {
    client: await describeClient(parts, client.metadata()),
    signedIn,
    endpoint,
    organization: organizationLabel(organization),
    resource: parts.resources.urlOf(endpoint),
    redirectUri: text("redirect_uri"),
    scopes: SCOPES.filter((scope) => asked.has(scope)),
    offline: text("scope").split(" ").includes(OFFLINE_ACCESS),
    prompt: text("prompt"),
  };
  const { organizationId } = endpoint;
  const mayUse = mayUseEndpoint(endpoint.config.principals, {
    role: signedIn.role(organizationId),
    username: signedIn.person.username,
    groups: signedIn.groups(organizationId),
  });
  return mayUse ? question : { refused: question };
}

async function describeClient({ clients }: QuestionParts, metadata: ClientMetadata): Promise<AskingClient> {
  const { client_id: clientId, client_name: name } = metadata;
  const row = await clients.row(clientId);
  return {
    clientId,
    name: plainName(name),
    native: metadata.application_type === "native",
    document: row === undefined && clientId.startsWith("https://"),
    registeredAt: row?.createdAt,
  };
}

function ended({ pages }: QuestionParts, response: Response): undefined {
  pages.renderMessage(response, errorMessage({ error: "invalid_request" }, 400, ""));
  return undefined;
}
