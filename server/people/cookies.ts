/** The cookies of the pages: their names, how they are read and how they are written. */
import type { IncomingMessage } from "node:http";

/**
 * What each cookie is for; `upstream` marks the browser that signs in to a connection, `external` the one that signs in
 * here through another server.
 */
export type CookieKind = "session" | "visitor" | "upstream" | "external";

export interface Cookies {
  /** The value that a request carries; undefined where it carries none or one of another form. */
  read(request: IncomingMessage, kind: CookieKind): string | undefined;
  /**
   * The `Set-Cookie` header that stores a value.
   * @param maxAgeMs how long the browser keeps it; absent: until it is closed
   */
  write(kind: CookieKind, value: string, maxAgeMs?: number): string;
  /** The `Set-Cookie` header that removes it. */
  clear(kind: CookieKind): string;
}

/** 256 random bits in base64url: the only form of a value that we hand out. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Over https the names start with `__Host-`, so that no other host of the domain and no plain http answer can set
 * them (RFC 6265bis section 4.1.3). Browsers refuse such a name over plain http, as on loopback.
 * @param secure whether browsers reach the server over https
 */
export function createCookies(secure: boolean): Cookies {
  const nameOf = (kind: CookieKind): string => `${secure ? "__Host-" : ""}jackfield-${kind}`;
  // Lax, not Strict: whoever comes back from the sign-in at another service must still be signed in here.
  const attributes = `; Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return {
    read: (request, kind) => {
      const value = cookieNamed(request.headers.cookie ?? "", nameOf(kind));
      return value !== undefined && VALUE.test(value) ? value : undefined;
    },
    write: (kind, value, maxAgeMs) => {
      const age = maxAgeMs === undefined ? "" : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
      return `${nameOf(kind)}=${value}${attributes}${age}`;
    },
    clear: (kind) => `${nameOf(kind)}=${attributes}; Max-Age=0`,
  };
}

/** The first value of a name, as browsers send the most specific one first. */
function cookieNamed(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
