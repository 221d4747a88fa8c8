/** Signing in through an OpenID Connect provider (OpenID Connect Core 1.0, section 3.1); Google is one of them. */
import * as client from "openid-client";
import type { ProviderFileOf } from "../../connections/sign-in-schema.ts";
import { beginCodeFlow, type CodeFlow, finishCodeFlow } from "./code-flow.ts";
import { domainOf, type ExternalIdentity, mappedGroups, textOf, textsOf } from "./identity.ts";
import { type SignInProvider, SignInRefused } from "./provider.ts";

export const GOOGLE = "https://accounts.google.com";

/** Milliseconds for which what discovery said is used. */
const KNOWN_MS = 10 * 60_000;
const TIMEOUT_SECONDS = 10;

export interface OpenIdOptions {
  readonly file: ProviderFileOf<"oidc"> | ProviderFileOf<"google">;
  readonly callbackUrl: string;
  /** The client, as it is configured now. Throws `missing_variable`. */
  readonly client: () => { readonly id: string; readonly secret: string | undefined };
  /** For the issuer and what it names. */
  readonly fetch: () => Promise<typeof globalThis.fetch>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Makes the provider; nothing is asked of it before somebody signs in. */
export function createOpenIdProvider({ file, callbackUrl, fetch, clock, ...options }: OpenIdOptions): SignInProvider {
  const issuer = file.type === "google" ? GOOGLE : file.issuer;
  let known: { config: Promise<client.Configuration>; until: number } | undefined;

  async function discover(): Promise<client.Configuration> {
    const { id, secret } = options.client();
    const guarded = await fetch();
    const authentication = secret === undefined ? client.None() : undefined;
    const config = await client.discovery(new URL(issuer), id, secret, authentication, {
      timeout: TIMEOUT_SECONDS,
      [client.customFetch]: (url, { body, ...init }) => guarded(url, { ...init, ...(body ? { body } : {}) }),
      // Egress lets plain http through to addresses that the operator allows, and nowhere else.
      execute: new URL(issuer).protocol === "http:" ? [client.allowInsecureRequests] : [],
    });
    // Without it a signature would be believed for where it came from (OpenID Connect Core, 3.1.3.7, 6).
    client.enableNonRepudiationChecks(config);
    return config;
  }

  async function flow(): Promise<CodeFlow> {
    const now = clock();
    if (known === undefined || now >= known.until) known = { config: discover(), until: now + KNOWN_MS };
    const current = known;
    const config = await current.config.catch((cause: unknown) => {
      if (known === current) known = undefined;
      throw cause;
    });
    return {
      config,
      callbackUrl,
      openid: true,
      scopes: file.type === "google" ? ["openid", "profile", "email"] : file.scopes,
      // Somebody with several accounts there is asked which; other providers may not know the word.
      ...(file.type === "google" ? { parameters: { prompt: "select_account" } } : {}),
      identify: (tokens) => identify(config, tokens),
    };
  }

  async function identify(
    config: client.Configuration,
    tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers,
  ): Promise<ExternalIdentity> {
    const idToken = tokens.claims();
    if (idToken === undefined) throw new SignInRefused("the provider gave no id token");
    const { userinfo_endpoint: endpoint } = config.serverMetadata();
    // Many providers say groups and addresses only there; that it speaks of the same subject is checked.
    const more = endpoint === undefined ? {} : await client.fetchUserInfo(config, tokens.access_token, idToken.sub);
    return identityOf(file, { ...more, ...idToken });
  }

  return {
    file,
    label: file.label ?? (file.type === "google" ? "Google" : new URL(issuer).host),
    begin: async (state) => beginCodeFlow(await flow(), state),
    finish: async (answer, session) => finishCodeFlow(await flow(), answer, session),
  };
}

/** The identity that claims tell of. */
export function identityOf(
  file: OpenIdOptions["file"],
  claims: Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string },
): ExternalIdentity {
  const address = textOf(claims["email"]);
  const verified = claims["email_verified"] === true || (file.type === "oidc" && file.trustEmail);
  const email = verified ? address : undefined;
  const login = textOf(claims["preferred_username"]) ?? address;
  return {
    issuer: claims.iss,
    subject: claims.sub,
    label: address ?? login ?? claims.sub,
    name: textOf(claims["name"]),
    login,
    email,
    domains: domainsOf(file, claims, email),
    groups: mappedGroups(textsOf(claims[file.groups?.claim ?? ""]), file.groups?.map),
    claims,
  };
}

/**
 * An account at Google may carry any address that its owner once received mail at. Whether it belongs to a domain is
 * said by `hd` alone, which the domain's administrators grant.
 */
function domainsOf(
  file: OpenIdOptions["file"],
  claims: Readonly<Record<string, unknown>>,
  email: string | undefined,
): string[] {
  if (file.type === "google") return email === undefined ? [] : textsOf(claims["hd"]).map((one) => one.toLowerCase());
  const domain = email === undefined ? undefined : domainOf(email);
  return domain === undefined ? [] : [domain];
}
