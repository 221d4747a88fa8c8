/** What the two halves of signing in upstream share: the tokens (accounts) and the way to them (registrations). */
import type { JsonObject } from "../../adapters/contract.ts";
import type { AccountRow } from "../store/models/accounts.ts";

/** Principal key of the deployment's own accounts: of every connection whose subject is not `user`. */
export const DEPLOYMENT_KEY = "0".repeat(64);

/** An account as it is stored; its tokens are sealed in it. */
export type Account = Readonly<AccountRow>;

export type TokenEndpointAuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** Who we are at an authorization server. */
export interface Registration {
  readonly id: string;
  readonly organizationId: string;
  readonly issuer: string;
  readonly redirectUri: string;
  /** Registered dynamically (RFC 7591), a client id metadata document, or given by the operator. */
  readonly kind: "dcr" | "cimd" | "static";
  readonly clientId: string;
  readonly sealedSecret: string | null;
  readonly tokenEndpointAuthMethod: TokenEndpointAuthMethod;
  readonly metadata: Record<string, unknown> | null;
  readonly createdAt: Date;
}

/** The part of the registrations that the token side needs. */
export interface RegistrationDesk {
  find(id: string): Promise<Registration | undefined>;
  /** Opens the client secret; undefined where it has none. */
  secret(registration: Registration): Promise<string | undefined>;
  /** The authorization server does not know it any more (`invalid_client`). */
  drop(id: string): Promise<void>;
}

/** How a client proves at a token or revocation endpoint who it is. */
export interface ClientAuthentication {
  readonly clientId: string;
  readonly method: TokenEndpointAuthMethod;
  readonly secret?: string;
  /** PEM or JWK text, for `private_key_jwt` (RFC 7523). */
  readonly privateKey?: string;
  readonly algorithm?: string;
}

/** A token response, read tolerantly. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Seconds the access token lives; absent where the server does not say. */
  readonly expiresIn?: number;
  /** As granted; absent: as asked (RFC 6749, 5.1). */
  readonly scope?: string;
  /** What else the answer said, without refresh and id tokens; only where it was asked for. */
  readonly data?: JsonObject;
}

/** What a finished sign-in (or pairing) hands over to be kept. */
export interface NewAccount {
  readonly organizationId: string;
  readonly connectionId: string;
  readonly principal: { readonly key: string; readonly issuer: string; readonly subject: string };
  readonly authorizationServer: string;
  readonly registrationId?: string;
  readonly oauthApp?: string;
  readonly tokenEndpoint?: string;
  readonly revocationEndpoint?: string;
  /** The URL that the tokens may be sent to, and what lies below it; normally the connection's resource. */
  readonly boundResource: string;
  /** `resource` as it was sent (RFC 8707), so that refreshing sends the same. */
  readonly resource?: string;
  /** Client credentials only: digest of the client. */
  readonly mintedWith?: string;
  readonly scopesAsked: readonly string[];
  readonly tokens: Tokens;
  readonly connectedBy?: string;
}

/** Why an account needs a sign-in; stands in the row and in the error's data. */
export type SignInReason =
  | "no_account"
  | "invalid_grant"
  | "invalid_client"
  | "expired"
  | "refused"
  | "address_changed"
  | "scope"
  | "app_changed"
  | "disconnected"
  | "unreadable";
