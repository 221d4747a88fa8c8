/** Signing in with a provider OAuth app of `jackfield.yml`: no discovery, no registration, the operator's endpoints. */
import type { ServedConnection } from "../connections/types.ts";
import { JackfieldError } from "../errors.ts";
import { type Flow, randomValue } from "./attempts.ts";
import { resourceOf, urlOf } from "./binding.ts";
import { CALLBACK_PATH } from "./client-metadata.ts";
import type { ConnectionApp, OAuthApps } from "./oauth-apps.ts";
import { bounded, SignInProblem } from "./problem.ts";
import { requestTokens, TokenError } from "./token-request.ts";
import type { Tokens } from "./types.ts";

/** A request at the provider, and what redeeming its answer takes. */
export interface AppRequest {
  readonly url: URL;
  readonly redirectUri: string;
  readonly flow: Omit<Flow, "principal" | "authorizationUrl">;
}

export interface AppFlow {
  /** The request of the connection's app; undefined where it names none. @throws SignInProblem */
  request(connection: ServedConnection, state: string): AppRequest | undefined;
  /** Redeems a code. @throws SignInProblem */
  redeem(connection: ServedConnection, flow: Flow, code: string, redirectUri: string): Promise<Tokens>;
}

export interface AppFlowOptions {
  readonly apps: Pick<OAuthApps, "of" | "authorizationUrl">;
  readonly publicUrl: () => string;
  /** Reaches what the operator wrote down. */
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

export function createAppFlow({ apps, publicUrl, fetch, clock }: AppFlowOptions): AppFlow {
  const appOf = (connection: ServedConnection): ConnectionApp | undefined => {
    try {
      return apps.of(connection);
    } catch (error) {
      if (!(error instanceof JackfieldError)) throw error;
      throw new SignInProblem("app_unusable", error.message, { cause: error });
    }
  };
  return {
    request(connection, state) {
      const app = appOf(connection);
      if (!app) return undefined;
      const url = urlOf(connection);
      if (!url) throw new SignInProblem("not_oauth", `${connection.label} has no URL that tokens could be sent to.`);
      // As for registrations: a provider that does not name itself gets an address of its own.
      const redirectUri = publicUrl() + CALLBACK_PATH + (app.namesItself ? "" : `/${app.id}`);
      const verifier = randomValue();
      return {
        url: apps.authorizationUrl(app, { state, redirectUri, verifier }),
        redirectUri,
        flow: {
          verifier,
          issuer: app.issuer,
          namesItself: app.namesItself,
          tokenEndpoint: app.tokenUrl,
          ...(app.revocationUrl === undefined ? {} : { revocationEndpoint: app.revocationUrl }),
          oauthApp: app.id,
          boundResource: resourceOf(url),
          scopes: app.scopes,
        },
      };
    },
    async redeem(connection, flow, code, redirectUri) {
      const app = appOf(connection);
      if (app?.id !== flow.oauthApp || app?.tokenUrl !== flow.tokenEndpoint) {
        const text = `The OAuth app of ${connection.label} was changed meanwhile. Nothing was sent; start again.`;
        throw new SignInProblem("app_unusable", text);
      }
      try {
        return await requestTokens({
          endpoint: app.tokenUrl,
          form: {
            grant_type: "authorization_code",
            code,
            redirect_uri: redirectUri,
            code_verifier: app.pkce ? flow.verifier : undefined,
          },
          client: app.client,
          issuer: app.issuer,
          fetch,
          clock,
          wholeAnswer: connection.type === "ap",
        });
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        throw refused(connection, app, error);
      }
    },
  };
}

function refused({ label }: ServedConnection, app: ConnectionApp, error: TokenError): SignInProblem {
  const said = error.code === undefined ? "" : ` (${bounded(error.code, 60)})`;
  switch (error.kind) {
    case "unavailable":
      return new SignInProblem(
        "token_unreachable",
        `The token service of ${app.label} did not answer properly, so nothing was stored. Start again in a moment.`,
        { detail: error.message },
      );
    case "invalid_client":
      return new SignInProblem(
        "token_refused",
        `${app.label} does not accept the client id or secret of the OAuth app${said}. The operator has to correct it; then start again.`,
        { detail: error.message },
      );
    default:
      return new SignInProblem(
        "token_refused",
        `${app.label} did not accept the sign-in to ${label}${said}. Start again; if it stays so, tell the operator.`,
        { detail: error.message },
      );
  }
}
