/** Configures oidc-provider as an OAuth 2.1 authorization server for MCP: what is on, what is off, how long it lives. */

import { randomBytes } from "node:crypto";
import Provider, { type AdapterFactory, type Configuration, errors, type KoaContextWithOIDC } from "oidc-provider";
import { assertionKeys } from "../people/caller-assertions.ts";
import { SCOPES } from "../people/principal.ts";
import { makeToken, type TokenKind } from "../people/token-format.ts";
import type { Keyring } from "../vault/keyring.ts";
import { cookieKey, signingKey } from "./keys.ts";
import type { Resources } from "./resources.ts";
import { OFFLINE_ACCESS } from "./scopes.ts";
import type { OAuthSettings } from "./settings.ts";

const DAY = 86_400;
/** Seconds a refresh token lives without use, and a grant in all. */
const REFRESH_SECONDS = 30 * DAY;
export const GRANT_SECONDS = 180 * DAY;
/** Seconds from the authorization request to the answer at the consent page. */
export const INTERACTION_SECONDS = 600;
const CODE_SECONDS = 60;

export const PATHS = {
  authorization: "/oauth/authorize",
  token: "/oauth/token",
  registration: "/oauth/register",
  revocation: "/oauth/revoke",
  jwks: "/oauth/jwks",
  interaction: "/oauth/interaction",
} as const;

export interface ProviderOptions {
  /** Our public origin: configuration, never taken from a request. */
  readonly issuer: string;
  readonly settings: OAuthSettings;
  /** Whether client id metadata documents are accepted. */
  readonly documents: boolean;
  readonly keyring: Keyring;
  readonly storage: AdapterFactory;
  readonly resources: Resources;
  /** For everything the library fetches: documents of clients, and keys they name. */
  readonly fetch: typeof globalThis.fetch;
  /** Whether a document may be fetched for this request. */
  readonly allowFetch: (ctx: KoaContextWithOIDC, clientId: string) => Promise<boolean>;
  /** Whether a person may still use what a token of this grant is for. */
  readonly isActive: (personId: string, grantId: string | undefined) => Promise<boolean>;
  readonly renderError: NonNullable<Configuration["renderError"]>;
}

/** Makes the library's provider; it holds no state of its own but caches. */
export function createProvider(options: ProviderOptions): Provider {
  const provider = new Provider(options.issuer, configurationOf(options));
  // Behind our own handler, which sets these headers from the configuration.
  provider.proxy = true;
  prefixTokens(provider.AccessToken, "oat");
  prefixTokens(provider.RefreshToken, "ort");
  provider.use(advertiseOurs);
  return provider;
}

/**
 * Gives tokens our own form: a prefix for secret scanners and our log, a checksum against useless look-ups. Unlike the
 * form of JWTs that of opaque tokens cannot be configured.
 */
function prefixTokens(model: { readonly prototype: object }, kind: TokenKind): void {
  const original: unknown = Reflect.get(model.prototype, "generateTokenId");
  if (typeof original !== "function") throw new TypeError("the library makes its tokens in another way");
  Object.defineProperty(model.prototype, "generateTokenId", {
    value(this: object) {
      // It also notes on the token that it is opaque.
      Reflect.apply(original, this, []);
      return makeToken(kind);
    },
  });
}

/** Discovery names OpenID Connect's own scope whatever is configured; some clients ask for all that it names. */
const advertiseOurs: Parameters<Provider["use"]>[0] = async (ctx, next) => {
  await next();
  const body: unknown = ctx.body;
  if (typeof body !== "object" || body === null || !("scopes_supported" in body)) return;
  ctx.body = { ...body, scopes_supported: [...SCOPES, OFFLINE_ACCESS] };
};

function configurationOf(options: ProviderOptions): Configuration {
  const { issuer, settings, keyring, resources, isActive } = options;
  const secure = issuer.startsWith("https:");
  const cookie = { signed: true, httpOnly: true, sameSite: "lax", secure } as const;
  return {
    adapter: options.storage,
    jwks: { keys: [signingKey(keyring), ...assertionKeys(keyring)] },
    enabledJWA: { idTokenSigningAlgValues: ["EdDSA"] },
    clientDefaults: { id_token_signed_response_alg: "EdDSA" },
    cookies: {
      keys: [cookieKey(keyring)],
      // The library scopes two of them to a path, which `__Host-` forbids (RFC 6265bis section 4.1.3).
      names: {
        session: `${secure ? "__Host-" : ""}jackfield-authorization`,
        interaction: `${secure ? "__Secure-" : ""}jackfield-interaction`,
        resume: `${secure ? "__Secure-" : ""}jackfield-resume`,
      },
      long: cookie,
      short: cookie,
    },
    scopes: [OFFLINE_ACCESS, ...SCOPES],
    claims: {},
    responseTypes: ["code"],
    pkce: { required: () => true },
    clientAuthMethods: ["none", "client_secret_post", "client_secret_basic", "private_key_jwt"],
    clientBasedCORS: () => true,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      introspection: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      registration: {
        enabled: settings.registration !== "off",
        initialAccessToken: false,
        issueRegistrationAccessToken: false,
        idFactory: () => `dcr_${randomBytes(16).toString("base64url")}`,
        secretFactory: () => randomBytes(32).toString("base64url"),
      },
      clientIdMetadataDocument: {
        enabled: options.documents,
        ack: "draft-02",
        allowFetch: options.allowFetch,
        allowClient: () => true,
      },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        defaultResource: () => {
          const endpoint = resources.default();
          if (endpoint === undefined) throw new errors.InvalidTarget();
          return resources.urlOf(endpoint);
        },
        getResourceServerInfo: (_ctx, indicator) => {
          const endpoint = resources.find(indicator);
          if (endpoint === undefined) throw new errors.InvalidTarget();
          return {
            scope: SCOPES.join(" "),
            audience: resources.urlOf(endpoint),
            accessTokenTTL: settings.accessTokenSeconds,
            accessTokenFormat: "opaque",
          };
        },
      },
    },
    ttl: {
      Interaction: INTERACTION_SECONDS,
      Session: INTERACTION_SECONDS,
      Grant: GRANT_SECONDS,
      AccessToken: settings.accessTokenSeconds,
      AuthorizationCode: CODE_SECONDS,
      RefreshToken: (_ctx, token) => Math.max(1, Math.min(REFRESH_SECONDS, GRANT_SECONDS - token.totalLifetime())),
    },
    // Several clients never ask for offline_access and expect refresh tokens all the same.
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    revokeGrantPolicy: () => true,
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
    },
    findAccount: async (_ctx, accountId, token) => {
      const grantId = token !== undefined && "grantId" in token ? token.grantId : undefined;
      if (!(await isActive(accountId, grantId))) return undefined;
      return { accountId, claims: () => ({ sub: accountId }) };
    },
    interactions: { url: (_ctx, interaction) => `${PATHS.interaction}/${interaction.uid}` },
    fetch: options.fetch,
    fetchResponseBodyLimits: { jwks_uri: 64 * 1024 },
    renderError: options.renderError,
    routes: {
      authorization: PATHS.authorization,
      token: PATHS.token,
      registration: PATHS.registration,
      revocation: PATHS.revocation,
      jwks: PATHS.jwks,
    },
  };
}
