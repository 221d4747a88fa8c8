/** Host and Origin of a request: what a browser was tricked into sending stops here (DNS rebinding). */
import type { IncomingMessage } from "node:http";

export interface Origins {
  /** Host names served, without port; undefined: any (behind a proxy that decides). */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Host names whose pages may call, without port. */
  readonly pages: ReadonlySet<string>;
  /**
   * Host name at which any page may call: the public one over https. No name can be rebound to it, because its
   * certificate would not fit, and no call carries a cookie; clients in browsers could not work otherwise.
   */
  readonly open: string | undefined;
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * What may be called and from which pages. A loopback bind serves loopback names (and its public one) only.
 * @param host the address that is listened on
 */
export function originsFor(host: string, publicUrl: string | undefined): Origins {
  const named = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  const loopback = LOOPBACK.includes(host) || host === "::1";
  const open = publicUrl?.startsWith("https:") === true ? named[0] : undefined;
  return {
    hosts: loopback ? new Set([...LOOPBACK, ...named]) : undefined,
    pages: new Set(loopback ? [...LOOPBACK, ...named] : named),
    open,
  };
}

/** Whether the Host header names something that is not served here. */
export function refusedHost(origins: Origins, request: IncomingMessage): boolean {
  if (!origins.hosts) return false;
  const name = hostname(`http://${request.headers.host ?? ""}`);
  return name === undefined || !origins.hosts.has(name);
}

/** Whether the request comes from a page that may not call. Clients that are no browsers send no Origin. */
export function refusedOrigin(origins: Origins, request: IncomingMessage): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  const name = hostname(origin);
  if (name !== undefined && origins.pages.has(name)) return false;
  return origins.open === undefined || hostname(`https://${request.headers.host ?? ""}`) !== origins.open;
}

function hostname(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
