/** Redeems the code of a sign-in for tokens, and tells what it means where the authorization server does not give them. */
import { exchangeAuthorization, OAuthError } from "@modelcontextprotocol/client";
import type { ServedConnection } from "../connections/types.ts";
import type { Flow } from "./attempts.ts";
import { blockedIn, bounded, SignInProblem } from "./problem.ts";
import type { RegistrationDesk, Tokens } from "./types.ts";

/** Codes that say "later", not "no"; the SDK gives the first to answers that it cannot read. */
const LATER: ReadonlySet<string> = new Set(["server_error", "temporarily_unavailable", "slow_down"]);

export interface Code {
  readonly connection: Pick<ServedConnection, "label">;
  readonly flow: Flow;
  readonly code: string;
  /** `iss` of the answer, checked once more here (RFC 9207). */
  readonly iss?: string;
  readonly redirectUri: string;
}

/**
 * Redeems a code.
 * @param named reaches what the connection names
 * @throws SignInProblem
 */
export async function exchangeCode(
  registrations: RegistrationDesk,
  { connection, flow, code, iss, redirectUri }: Code,
  named: typeof fetch,
): Promise<Tokens> {
  const registration = flow.registrationId === undefined ? undefined : await registrations.find(flow.registrationId);
  if (!registration) {
    throw new SignInProblem("token_refused", "Our registration there was renewed meanwhile. Start again.");
  }
  const secret = await registrations.secret(registration);
  try {
    const tokens = await exchangeAuthorization(flow.issuer, {
      metadata: {
        issuer: flow.issuer,
        authorization_endpoint: flow.authorizationUrl,
        token_endpoint: flow.tokenEndpoint,
        response_types_supported: ["code"],
        authorization_response_iss_parameter_supported: flow.namesItself,
        ...(flow.tokenAuthMethods === undefined
          ? {}
          : { token_endpoint_auth_methods_supported: [...flow.tokenAuthMethods] }),
      },
      clientInformation: {
        client_id: registration.clientId,
        token_endpoint_auth_method: registration.tokenEndpointAuthMethod,
        ...(secret === undefined ? {} : { client_secret: secret }),
      },
      authorizationCode: code,
      codeVerifier: flow.verifier,
      redirectUri,
      fetchFn: named,
      ...(iss === undefined ? {} : { iss }),
      ...(flow.resource === undefined ? {} : { resource: flow.resource }),
    });
    if (tokens.token_type.toLowerCase() !== "bearer") {
      const text = `${connection.label} gave a token of a kind that is not supported (${bounded(tokens.token_type, 40)}). Tell whoever runs it.`;
      throw new SignInProblem("token_refused", text);
    }
    return {
      accessToken: tokens.access_token,
      ...(tokens.refresh_token === undefined ? {} : { refreshToken: tokens.refresh_token }),
      ...(tokens.expires_in === undefined ? {} : { expiresIn: tokens.expires_in }),
      ...(tokens.scope === undefined ? {} : { scope: tokens.scope }),
    };
  } catch (error) {
    if (error instanceof SignInProblem) throw error;
    throw await tokenProblem(registrations, connection, registration.id, error);
  }
}

async function tokenProblem(
  registrations: RegistrationDesk,
  { label }: Code["connection"],
  registrationId: string,
  error: unknown,
): Promise<SignInProblem> {
  if (error instanceof OAuthError && !LATER.has(error.code)) {
    if (error.code === "invalid_client") await registrations.drop(registrationId);
    const text =
      error.code === "invalid_client"
        ? `${label} does not know this server as its client any more. Start again: it will be registered anew.`
        : `${label} did not accept the sign-in (${bounded(error.code, 60)}). Start again; if it stays so, tell whoever runs the service.`;
    return new SignInProblem("token_refused", text, { detail: error.code, cause: error });
  }
  if (blockedIn(error)) {
    const text = `${label} wants the sign-in finished at an address that this server does not reach. Tell its operator.`;
    return new SignInProblem("blocked_address", text, { cause: error });
  }
  // The answer of a token endpoint may hold tokens: of what it was, only the kind is kept.
  const detail = error instanceof Error ? error.name : typeof error;
  const text = `The token service of ${label} did not answer properly, so nothing was stored. Start again in a moment.`;
  return new SignInProblem("token_unreachable", text, { detail, cause: error });
}
