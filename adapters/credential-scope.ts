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
  switch (credential.kind) {
    case "bearer":
      if (credential.within !== undefined && !isWithin(url, credential.within)) return undefined;
      headers.set("authorization", `Bearer ${credential.token}`);
      break;
    case "basic":
      headers.set("authorization", `Basic ${basicPair(credential.username, credential.password)}`);
      break;
    case "header":
      headers.set(credential.name, credential.value);
      break;
    case "query":
      url.searchParams.set(credential.name, credential.value);
      break;
    case "cookie": {
      const others = headers.get("cookie");
      const own = `${credential.name}=${credential.value}`;
      headers.set("cookie", others === null ? own : `${others}; ${own}`);
      break;
    }
    case "several": {
      const added = Object.values(credential.schemes).map((single) => applyCredential(single, request, home));
      return added.find((secret) => secret !== undefined);
    }
    // Not for a request: whoever takes such a form places its values itself.
    case "fields":
      return undefined;
  }
  return secretsOf(credential)[0];
}

/** RFC 7617, 2: user and password in UTF-8, as base64. */
function basicPair(username: string, password: string): string {
  return Buffer.from(`${username}:${password}`, "utf8").toString("base64");
}

/** Of a field: a URL or a region stands among the secrets of a form. */
const NAMES_A_SECRET = /token|secret|passw|key|credential/i;

/** Texts under keys that name a token or a secret, at any depth. */
export function tokensIn(value: unknown, depth: number): string[] {
  if (typeof value !== "object" || value === null || depth > 8) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (typeof inner !== "string") return tokensIn(inner, depth + 1);
    return NAMES_A_SECRET.test(key) && !/type$/i.test(key) ? [inner] : [];
  });
}

/** Everything in a credential that an upstream might echo and nobody may see. */
export function secretsOf(credential: Credential): string[] {
  switch (credential.kind) {
    case "bearer":
      return [credential.token, ...tokensIn(credential.data, 0)];
    case "basic":
      return [credential.password, basicPair(credential.username, credential.password)];
    case "several":
      return Object.values(credential.schemes).flatMap(secretsOf);
    case "fields":
      return Object.entries(credential.values).flatMap(([name, value]) => (NAMES_A_SECRET.test(name) ? [value] : []));
    default:
      return [credential.value];
  }
}

/** Whether two credentials are the same secret in the same place. */
export function isSameCredential(a: Credential | undefined, b: Credential | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && placed(a) === placed(b));
}

/** The bounds of a bearer token do not make it another one. */
function placed(credential: Credential): string {
  if (credential.kind === "bearer") return JSON.stringify([credential.kind, credential.token]);
  if (credential.kind === "basic") return JSON.stringify([credential.kind, credential.username, credential.password]);
  if (credential.kind === "fields") return JSON.stringify([credential.kind, Object.entries(credential.values)]);
  if (credential.kind !== "several") return JSON.stringify([credential.kind, credential.name, credential.value]);
  return JSON.stringify(Object.entries(credential.schemes).map(([name, single]) => [name, placed(single)]));
}
