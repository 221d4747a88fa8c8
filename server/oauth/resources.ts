/**
 * Endpoints as protected resources (RFC 9728, RFC 8707): each has one canonical URL, which is the audience of its
 * tokens, and several spellings that clients send for it.
 */
import { FIRST_ORGANIZATION } from "../connections/files.ts";
import type { Registry } from "../connections/registry.ts";
import type { ServedEndpoint } from "../connections/types.ts";

export interface Resources {
  /** The canonical URL of an endpoint, without a trailing slash. */
  urlOf(endpoint: ServedEndpoint): string;
  /** The endpoint that a `resource` parameter means; undefined where it is none that people sign in to. */
  find(resource: string): ServedEndpoint | undefined;
  /** The endpoint for requests that name no resource. */
  default(): ServedEndpoint | undefined;
  /**
   * The origin to show in documents. On loopback it is spelled as the client did: it compares what it reads with the
   * URL that it was given, character by character, and people type localhost.
   * @param host the request's `Host` header, which was checked before
   */
  shownOrigin(host: string | undefined): string;
}

export interface ResourcesOptions {
  readonly registry: Pick<Registry, "endpoint">;
  /** The public origin; known once the server listens. */
  readonly origin: () => string;
}

const PATH = /^(?:\/o\/([^/]+))?\/mcp(?:\/([^/]+))?$/;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function createResources({ registry, origin }: ResourcesOptions): Resources {
  const atPath = (path: string): ServedEndpoint | undefined => {
    const match = PATH.exec(path);
    if (!match) return undefined;
    const endpoint = registry.endpoint(match[1], match[2])?.endpoint;
    return endpoint?.config.signIn === "on" ? endpoint : undefined;
  };
  const defaultEndpoint = () => atPath("/mcp");
  return {
    urlOf: (endpoint) => `${origin()}${pathOf(endpoint)}`,
    find(resource) {
      const url = URL.canParse(resource) ? new URL(resource) : undefined;
      if (url === undefined || url.search + url.username + url.password !== "") return undefined;
      // Even an empty fragment: RFC 8707 section 2 forbids it.
      if (resource.includes("#") || !sameOrigin(url, new URL(origin()))) return undefined;
      const path = url.pathname.replace(/\/+$/, "");
      return path === "" ? defaultEndpoint() : atPath(path);
    },
    default: defaultEndpoint,
    shownOrigin(host) {
      const own = new URL(origin());
      const shown = `${own.protocol}//${host ?? ""}`;
      if (!LOOPBACK.has(own.hostname) || !URL.canParse(shown)) return own.origin;
      return sameOrigin(new URL(shown), own) ? new URL(shown).origin : own.origin;
    },
  };
}

/** The path of an endpoint's canonical URL. */
export function pathOf({ organizationSlug, slug, isDefault }: ServedEndpoint): string {
  const organization = organizationSlug === FIRST_ORGANIZATION ? "" : `/o/${organizationSlug}`;
  return isDefault ? `${organization}/mcp` : `${organization}/mcp/${slug}`;
}

/** `URL` has lowered the case and dropped default ports; the names of loopback mean one machine. */
function sameOrigin(url: URL, own: URL): boolean {
  if (url.origin === own.origin) return true;
  const loopback = LOOPBACK.has(url.hostname) && LOOPBACK.has(own.hostname);
  return loopback && url.protocol === own.protocol && url.port === own.port;
}
