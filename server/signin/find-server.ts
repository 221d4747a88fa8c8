/**
 * Where a connection's accounts come from: what its service says in its own protocol (the security schemes of an A2A
 * card), else what MCP says about finding it out.
 */
import type { SignInPlace } from "../../adapters/contract.ts";
import {
  type AuthorizationServer,
  authorizationServer,
  checkEndpoint,
  checkedServer,
  type Discovered,
  type DiscoveryOptions,
  discover,
} from "./discovery.ts";
import { blockedIn, bounded, SignInProblem } from "./problem.ts";

/** Bytes of a discovery document. */
const MAX_DOCUMENT = 256 * 1024;

export interface FindOptions extends DiscoveryOptions {
  /** Asks the service; absent where its protocol has no words for that. */
  readonly told?: (wants: "code" | "client") => Promise<SignInPlace | undefined>;
}

/** @throws SignInProblem with what stopped it */
export async function findServer(connectionUrl: string, options: FindOptions): Promise<Discovered> {
  const place = await ask(connectionUrl, options);
  if (place === undefined) return discover(connectionUrl, options);
  const server = place.kind === "document" ? await published(place.url, options) : fromEndpoints(place, options);
  // No resource indicator: such services know nothing of RFC 8707, and some authorization servers refuse it.
  const resourceScopes = place.scopes.length === 0 ? undefined : place.scopes;
  return { server, resource: undefined, challengedScopes: undefined, resourceScopes };
}

async function ask(connectionUrl: string, options: FindOptions): Promise<SignInPlace | undefined> {
  try {
    return await options.told?.(options.withoutBrowser ? "client" : "code");
  } catch (error) {
    const { host } = new URL(connectionUrl);
    const code = blockedIn(error) ? "blocked_address" : "unreachable";
    const said = error instanceof Error ? bounded(error.message) : "";
    throw new SignInProblem(code, `${host} does not say where one signs in: ${said}`, { cause: error });
  }
}

/** The document names its issuer, whose own metadata then counts: a document elsewhere cannot speak for it. */
async function published(url: string, options: FindOptions): Promise<AuthorizationServer> {
  checkEndpoint("discovery document", url, options.allowsLoopback);
  let document: unknown;
  try {
    const response = await options.named(url, { headers: { accept: "application/json" } });
    const text = await response.text();
    if (response.ok && text.length <= MAX_DOCUMENT) document = JSON.parse(text);
  } catch (error) {
    const code = blockedIn(error) ? "blocked_address" : "metadata_unusable";
    throw new SignInProblem(code, unusable(url), { detail: bounded(String(error)), cause: error });
  }
  const issuer: unknown =
    typeof document === "object" && document !== null ? Reflect.get(document, "issuer") : undefined;
  if (typeof issuer !== "string" || !URL.canParse(issuer)) throw new SignInProblem("metadata_unusable", unusable(url));
  return authorizationServer(issuer, options);
}

function unusable(url: string): string {
  const { host } = new URL(url);
  return `The document about signing in at ${host} cannot be read. Tell whoever runs the service.`;
}

/** Two addresses are all that is known: taken as a server that does what OAuth 2.1 asks for. */
function fromEndpoints(
  { authorizationUrl, tokenUrl }: Extract<SignInPlace, { kind: "endpoints" }>,
  options: FindOptions,
): AuthorizationServer {
  // Looked at before anything is made of them.
  checkEndpoint("token endpoint", tokenUrl, options.allowsLoopback);
  const issuer = new URL(authorizationUrl ?? tokenUrl).origin;
  const metadata = {
    issuer,
    authorization_endpoint: authorizationUrl ?? tokenUrl,
    token_endpoint: tokenUrl,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
  };
  return checkedServer(issuer, metadata, options);
}
