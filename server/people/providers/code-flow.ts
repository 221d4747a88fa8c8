/**
 * The authorization code flow with PKCE (RFC 6749, RFC 7636, RFC 9207) through openid-client's strategy of passport.
 * What the strategy keeps in a session of express is handed in and out here, because it is stored with the sign-in.
 */
import * as client from "openid-client";
import { Strategy } from "openid-client/passport";
import type { ExternalIdentity } from "./identity.ts";
import { type ProtocolSession, SignInRefused } from "./provider.ts";
import { runStrategy } from "./strategy-run.ts";

export interface CodeFlow {
  readonly config: client.Configuration;
  readonly callbackUrl: string;
  readonly scopes: readonly string[];
  /** Whether an id token is expected: then it is bound to the request by a nonce. */
  readonly openid: boolean;
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Reads who it is from what the token endpoint answered. */
  identify(tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers): Promise<ExternalIdentity>;
}

const KEY = "flow";

/** The request of a sign-in that begins. */
export async function beginCodeFlow(flow: CodeFlow, state: string): Promise<{ url: string; session: ProtocolSession }> {
  const session: Record<string, ProtocolSession | undefined> = {};
  const asked = { ...flow.parameters, state, ...(flow.openid ? { nonce: client.randomNonce() } : {}) };
  const outcome = await runStrategy(strategyOf(flow, asked), requestFor(flow.callbackUrl, "", session));
  const kept = session[KEY];
  if (outcome.kind !== "redirect" || kept === undefined) throw new SignInRefused("the request could not be made");
  return { url: outcome.url, session: kept };
}

/** The answer to it. */
export async function finishCodeFlow(
  flow: CodeFlow,
  answer: URLSearchParams,
  kept: ProtocolSession,
): Promise<ExternalIdentity> {
  // Without one of these the strategy would begin anew.
  if (!answer.has("code") && !answer.has("error")) throw new SignInRefused("the answer holds neither code nor error");
  let identity: ExternalIdentity | undefined;
  const strategy = strategyOf(flow, {}, (found) => {
    identity = found;
  });
  await runStrategy(strategy, requestFor(flow.callbackUrl, `?${answer}`, { [KEY]: kept }));
  if (identity === undefined) throw new SignInRefused("the provider did not say who it is");
  return identity;
}

function strategyOf(
  flow: CodeFlow,
  parameters: Readonly<Record<string, string>>,
  found: (identity: ExternalIdentity) => void = () => undefined,
): Strategy {
  class OwnState extends Strategy {
    override authorizationRequestParams(): URLSearchParams {
      return new URLSearchParams({ scope: flow.scopes.join(" "), ...parameters });
    }
  }
  const options = { name: KEY, sessionKey: KEY, config: flow.config, callbackURL: flow.callbackUrl };
  return new OwnState(options, (tokens, verified) => {
    flow.identify(tokens).then(
      (identity) => {
        found(identity);
        verified(null, {});
      },
      (error: unknown) => verified(error instanceof Error ? error : new Error(String(error))),
    );
  });
}

/** As much of a request as the strategy reads. */
function requestFor(callbackUrl: string, search: string, session: object): object {
  const { protocol, host, pathname } = new URL(callbackUrl);
  return { method: "GET", protocol: protocol.slice(0, -1), host, originalUrl: `${pathname}${search}`, session };
}
