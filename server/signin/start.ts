/** Starts an attempt: finds the authorization server, becomes its client, and says where the browser goes. */
import { startAuthorization } from "@modelcontextprotocol/client";
import { ulid } from "ulid";
import type { ServedConnection } from "../connections/types.ts";
import type { Accounts } from "./accounts.ts";
import type { AppFlow } from "./app-flow.ts";
import { type Attempts, type Flow, randomValue } from "./attempts.ts";
import { resourceOf, urlOf } from "./binding.ts";
import { type FindOptions, findServer } from "./find-server.ts";
import { SignInProblem } from "./problem.ts";
import type { Registrations } from "./registration.ts";
import { scopesToAsk } from "./step-up.ts";
import type { AccountPrincipal } from "./ticket.ts";

export interface Beginning {
  readonly connection: ServedConnection;
  /** Whose account it will be. */
  readonly principal: AccountPrincipal;
  /** Who sits at the browser. */
  readonly personId: string;
  /** The value of the browser's cookie. */
  readonly browser: string;
}

export interface StartParts {
  readonly attempts: Attempts;
  readonly accounts: Pick<Accounts, "find">;
  readonly registrations: Registrations;
  /** How the connection and what it names are reached. */
  readonly reach: (connection: ServedConnection, url: URL) => Promise<FindOptions>;
  readonly app: AppFlow;
}

/**
 * Starts an attempt and returns where the browser has to go. Opening a link twice starts two: what was wrong with the
 * first, such as a client that the operator has corrected since, must not stay for its ten minutes.
 * @throws SignInProblem with what stops it
 */
export async function begin(parts: StartParts, beginning: Beginning): Promise<{ url: string }> {
  const { attempts } = parts;
  const { connection, principal, personId, browser } = beginning;
  const of = { connectionId: connection.id, principalKey: principal.key, personId, browser };
  const state = randomValue();
  const request = await authorizationRequest(parts, beginning, state);
  const { id, organizationId } = { id: ulid(), organizationId: connection.organizationId };
  const { redirectUri, flow } = request;
  await attempts.start({ id, organizationId, ...of, state, redirectUri, flow });
  return { url: flow.authorizationUrl };
}

async function authorizationRequest(
  parts: StartParts,
  { connection, principal }: Beginning,
  state: string,
): Promise<{ redirectUri: string; flow: Flow }> {
  const app = parts.app.request(connection, state);
  if (app) {
    return { redirectUri: app.redirectUri, flow: { ...app.flow, principal, authorizationUrl: app.url.href } };
  }
  const url = urlOf(connection);
  if (connection.auth.method !== "oauth" || !url) {
    throw new SignInProblem("not_oauth", `${connection.label} is not a connection that one signs in to.`);
  }
  const reach = await parts.reach(connection, url);
  const found = await findServer(url.href, reach);
  const { server, resource } = found;
  const registration = await parts.registrations.clientFor(connection, server, reach.named);
  const scopes = scopesToAsk({
    configured: connection.auth.scopes,
    found,
    serverScopes: server.metadata.scopes_supported,
    account: await parts.accounts.find(connection.id, principal.key),
  });
  const { metadata } = server;
  const { authorizationUrl, codeVerifier } = await startAuthorization(server.issuer, {
    metadata,
    clientInformation: { client_id: registration.clientId },
    redirectUrl: registration.redirectUri,
    state,
    ...(resource === undefined ? {} : { resource }),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
  });
  const { token_endpoint_auth_methods_supported: methods } = metadata;
  const flow: Flow = {
    principal,
    verifier: codeVerifier,
    authorizationUrl: authorizationUrl.href,
    issuer: server.issuer,
    namesItself: server.namesItself,
    tokenEndpoint: metadata.token_endpoint,
    ...(methods === undefined ? {} : { tokenAuthMethods: methods }),
    ...(server.revocationEndpoint === undefined ? {} : { revocationEndpoint: server.revocationEndpoint }),
    registrationId: registration.id,
    ...(resource === undefined ? {} : { resource }),
    boundResource: resourceOf(url),
    scopes,
  };
  return { redirectUri: registration.redirectUri, flow };
}
