/**
 * Finds out where a connection's accounts come from: the protected resource's metadata (RFC 9728) and that of its
 * authorization server (RFC 8414, OpenID Connect Discovery), with every fallback of the MCP specification down to the
 * default endpoints of 2025-03-26. Nothing of it is kept past one sign-in: a service may move to another
 * authorization server.
 *
 * Everything found here is a stranger's word. Each document and endpoint goes through the guarded fetch, and what it
 * claims is checked against what led to it.
 */
import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  IssuerMismatchError,
  type OAuthProtectedResourceMetadata,
} from "@modelcontextprotocol/client";
import { blockedIn, bounded, SignInProblem } from "./problem.ts";

type Fetch = typeof globalThis.fetch;

export interface DiscoveryOptions {
  /** Reaches the connection itself. */
  readonly upstream: Fetch;
  /** Reaches what the connection names. */
  readonly named: Fetch;
  /** Headers of the connection's configuration and the hop header; never a credential. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether plain http to loopback is open here. */
  readonly allowsLoopback: boolean;
  /** No browser is sent anywhere, so PKCE is not needed (client credentials). */
  readonly withoutBrowser?: boolean;
  /** Milliseconds for the first question to the connection. */
  readonly probeMs?: number;
}

export interface AuthorizationServer {
  /** As it spells itself; the key of registrations and accounts. */
  readonly issuer: string;
  /** Validated; made up of the default endpoints where an old server publishes none. */
  readonly metadata: AuthorizationServerMetadata;
  /** Whether it promises `iss` in its answers to the browser (RFC 9207). */
  readonly namesItself: boolean;
  /** Whether it takes a client id metadata document. */
  readonly takesMetadataDocuments: boolean;
  readonly revocationEndpoint: string | undefined;
}

export interface Discovered {
  readonly server: AuthorizationServer;
  /** Value of the `resource` parameter, spelled as the resource spells itself; undefined: none is sent. */
  readonly resource: string | undefined;
  /** Scopes the service asked for just now; they win over those it supports. */
  readonly challengedScopes: string | undefined;
  /** `scopes_supported` of the resource. */
  readonly resourceScopes: readonly string[] | undefined;
}

const PROBE_MS = 15_000;
const PROTOCOL = "2026-07-28";
/** A request that changes nothing anywhere; who must sign in first is told so before it is read. */
const PROBE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "server/discover",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": PROTOCOL,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});

/**
 * The whole chain for a connection's URL.
 * @throws SignInProblem with what stopped it
 */
export async function discover(connectionUrl: string, options: DiscoveryOptions): Promise<Discovered> {
  const challenge = await probe(connectionUrl, options);
  const resourceMetadata = await findResourceMetadata(connectionUrl, challenge.resourceMetadataUrl, options);
  if (resourceMetadata) checkResource(connectionUrl, resourceMetadata.resource);
  const named = resourceMetadata?.authorization_servers?.[0];
  const server =
    named === undefined ? await serverAtOrigin(connectionUrl, options) : await authorizationServer(named, options);
  return {
    server,
    resource: resourceMetadata?.resource ?? withoutFragment(connectionUrl),
    challengedScopes: challenge.scope,
    resourceScopes: resourceMetadata?.scopes_supported,
  };
}

/**
 * An authorization server by its issuer, as its own document says.
 * @throws SignInProblem where there is no usable document, or it speaks for another issuer
 */
export async function authorizationServer(
  issuer: string,
  options: Pick<DiscoveryOptions, "named" | "allowsLoopback" | "withoutBrowser">,
): Promise<AuthorizationServer> {
  checkEndpoint("authorization server", issuer, options.allowsLoopback);
  const metadata = await readServerMetadata(issuer, options.named);
  if (!metadata) {
    throw new SignInProblem(
      "metadata_unusable",
      `The authorization server ${hostOf(issuer)} publishes no metadata, so signing in there is not possible. Tell whoever runs it.`,
    );
  }
  // RFC 8414, 3.3: identical, not similar. The SDK lets a closing slash pass.
  if (metadata.issuer !== issuer) throw issuerMismatch(issuer, metadata.issuer);
  return checkedServer(issuer, metadata, options);
}

/** Asks the connection without a credential and takes what it demands. */
async function probe(
  connectionUrl: string,
  { upstream, headers, probeMs = PROBE_MS }: DiscoveryOptions,
): Promise<{ resourceMetadataUrl?: URL; scope?: string }> {
  let response: Response;
  try {
    response = await upstream(connectionUrl, {
      method: "POST",
      headers: {
        ...headers,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": PROTOCOL,
        "mcp-method": "server/discover",
      },
      body: PROBE,
      signal: AbortSignal.timeout(probeMs),
    });
  } catch (error) {
    throw unreachable(connectionUrl, error);
  }
  // The body may be a stream that never ends.
  await response.body?.cancel();
  return response.status === 401 || response.status === 403 ? extractWWWAuthenticateParams(response) : {};
}

/** Where the challenge points, else below the path, else at the root. */
async function findResourceMetadata(
  connectionUrl: string,
  challenged: URL | undefined,
  { named }: DiscoveryOptions,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const places = challenged === undefined ? [undefined] : [challenged, undefined];
  for (const resourceMetadataUrl of places) {
    try {
      return await discoverOAuthProtectedResourceMetadata(
        connectionUrl,
        resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl },
        named,
      );
    } catch (error) {
      const blocked = blockedIn(error);
      if (blocked) throw blockedProblem(resourceMetadataUrl?.href ?? connectionUrl, blocked);
      // An old server has no such document, and answers with whatever it has for unknown addresses.
    }
  }
  return undefined;
}

/** The metadata says which resource it describes: this one, or one that it lies in (RFC 9728, 3.3). */
function checkResource(connectionUrl: string, resource: string): void {
  if (
    URL.canParse(resource) &&
    checkResourceAllowed({ requestedResource: connectionUrl, configuredResource: resource })
  )
    return;
  throw new SignInProblem(
    "resource_mismatch",
    `The service says that it is ${bounded(resource, 200)}, which is not the connection's address. Check the connection's URL; if it is right, the service is set up wrongly.`,
    { detail: `${resource} for ${connectionUrl}` },
  );
}

/** MCP 2025-03-26: the server's origin is its authorization server, with or without a document. */
async function serverAtOrigin(connectionUrl: string, options: DiscoveryOptions): Promise<AuthorizationServer> {
  const origin = new URL("/", connectionUrl).href;
  checkEndpoint("authorization server", origin, options.allowsLoopback);
  const metadata = await readServerMetadata(origin, options.named);
  if (metadata) return checkedServer(metadata.issuer, metadata, options);
  const at = (path: string) => new URL(path, origin).href;
  const issuer = new URL(origin).origin;
  return checkedServer(
    issuer,
    {
      issuer,
      authorization_endpoint: at("/authorize"),
      token_endpoint: at("/token"),
      registration_endpoint: at("/register"),
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
    },
    options,
  );
}

async function readServerMetadata(issuer: string, named: Fetch): Promise<AuthorizationServerMetadata | undefined> {
  try {
    return await discoverAuthorizationServerMetadata(issuer, { fetchFn: named });
  } catch (error) {
    if (error instanceof IssuerMismatchError) throw issuerMismatch(issuer, error.received);
    const blocked = blockedIn(error);
    if (blocked) throw blockedProblem(issuer, blocked);
    throw new SignInProblem(
      "metadata_unusable",
      `The metadata of the authorization server ${hostOf(issuer)} could not be read. Try again; if it stays so, tell whoever runs it.`,
      { detail: bounded(String(error)), cause: error },
    );
  }
}

/** An authorization server whose endpoints were looked at. @throws SignInProblem */
export function checkedServer(
  issuer: string,
  metadata: AuthorizationServerMetadata,
  { allowsLoopback, withoutBrowser }: Pick<DiscoveryOptions, "allowsLoopback" | "withoutBrowser">,
): AuthorizationServer {
  for (const name of ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"]) {
    const url: unknown = Reflect.get(metadata, name);
    if (typeof url === "string") checkEndpoint(name, url, allowsLoopback);
  }
  // A server that does not announce it is taken not to have it (MCP, "Authorization Code Protection").
  if (!withoutBrowser && metadata.code_challenge_methods_supported?.includes("S256") !== true) {
    throw new SignInProblem(
      "pkce_unsupported",
      `The authorization server ${hostOf(issuer)} does not support PKCE with S256, without which signing in is not safe. Tell whoever runs it.`,
    );
  }
  const revocation: unknown = Reflect.get(metadata, "revocation_endpoint");
  return {
    issuer,
    metadata,
    namesItself: metadata.authorization_response_iss_parameter_supported === true,
    takesMetadataDocuments: metadata.client_id_metadata_document_supported === true,
    revocationEndpoint: typeof revocation === "string" ? revocation : undefined,
  };
}

/** https; plain http only to this machine and where the operator opened it. @throws SignInProblem for others */
export function checkEndpoint(name: string, url: string, allowsLoopback: boolean): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const bare = parsed?.username === "" && parsed.password === "";
  if (bare && parsed.protocol === "https:") return;
  if (bare && parsed.protocol === "http:" && allowsLoopback && isLoopbackName(parsed.hostname)) return;
  throw new SignInProblem(
    "insecure_endpoint",
    `The service names an ${name.replaceAll("_", " ")} that is not an https address. Tell whoever runs it.`,
    { detail: `${name}: ${bounded(url)}` },
  );
}

function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function unreachable(url: string, error: unknown): SignInProblem {
  const blocked = blockedIn(error);
  if (blocked) return blockedProblem(url, blocked);
  return new SignInProblem("unreachable", `${hostOf(url)} cannot be reached now. Check the connection and try again.`, {
    detail: bounded(String(error)),
    cause: error,
  });
}

function blockedProblem(url: string, cause: Error): SignInProblem {
  const detail = "detail" in cause && typeof cause.detail === "string" ? cause.detail : cause.message;
  return new SignInProblem(
    "blocked_address",
    `The service names an address that this server does not reach. If ${hostOf(url)} is right, the operator must allow it.`,
    { detail, cause },
  );
}

function issuerMismatch(expected: string, received: string | undefined): SignInProblem {
  return new SignInProblem(
    "issuer_mismatch",
    `The metadata of ${hostOf(expected)} speaks for another authorization server (${bounded(received ?? "none", 200)}). Do not sign in; tell whoever runs the service.`,
    { detail: `expected ${expected}` },
  );
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : bounded(url, 100);
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/s, "");
}
