/**
 * Puts credentials into requests, and only into those that they are for. The one place that does: it looks at the
 * URL of each request, redirects included, whatever the caller meant.
 */
import type { Credential } from "./contract.ts";

/**
 * Whether a URL is the given one or lies below its path, at a segment boundary. Encoded separators and dot segments
 * do not get out: those that a server may undo count as outside.
 */
export function isWithin(url: URL, bound: string): boolean {
  const limit = new URL(bound);
  if (url.origin !== limit.origin) return false;
  if (limit.pathname === "/") return true;
  if (/%2f|%5c|%2e|\\/i.test(url.pathname)) return url.pathname === limit.pathname;
  const base = limit.pathname.replace(/\/$/, "");
  return url.pathname === base || url.pathname.startsWith(`${base}/`);
}

/**
 * Adds a credential to a request's headers or URL.
 * @param home where the connection's requests go; a credential without bounds of its own goes to its origin
 * @returns the secret that was added, for scrubbing; undefined where this request must not carry it
 */
export function applyCredential(
  credential: Credential | undefined,
  request: { readonly url: URL; readonly headers: Headers },
  home: URL,
): string | undefined {
  if (!credential) return undefined;
  const { url, headers } = request;
  if (url.origin !== home.origin) return undefined;
  if (credential.kind === "bearer") {
    if (credential.within !== undefined && !isWithin(url, credential.within)) return undefined;
    headers.set("authorization", `Bearer ${credential.token}`);
    return credential.token;
  }
  if (credential.kind === "header") headers.set(credential.name, credential.value);
  else url.searchParams.set(credential.name, credential.value);
  return credential.value;
}

/** Whether two credentials are the same secret in the same place. */
export function isSameCredential(a: Credential | undefined, b: Credential | undefined): boolean {
  if (!a || !b || a.kind !== b.kind) return a === b;
  if (a.kind === "bearer") return b.kind === "bearer" && a.token === b.token;
  return b.kind === a.kind && a.name === b.name && a.value === b.value;
}
