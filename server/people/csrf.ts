/**
 * Against forms that other pages send with this browser's cookies: a token that only our own pages can read, and what
 * the browser says about where the request comes from.
 *
 * One token belongs to one session (or, before sign-in, to one visitor), not to one page: two tabs do not end each
 * other's forms. It is an HMAC of the cookie's value, so nothing has to be stored for those who only look.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Keyring } from "../vault/keyring.ts";
import type { Cookies } from "./cookies.ts";

/** Name of the form field that carries the token. */
export const CSRF_FIELD = "csrf";

export interface Csrf {
  /** The token for forms shown to this browser, and the `Set-Cookie` header that has to go with it, if any. */
  tokenFor(request: IncomingMessage): { token: string; cookie?: string };
  /** Whether a sent form came from a page of ours that was shown to this browser. */
  accepts(request: IncomingMessage, token: unknown): boolean;
  /** Whether the browser says that a request comes from a page of ours, or says nothing. */
  comesFromUs(request: IncomingMessage): boolean;
}

export interface CsrfOptions {
  keyring: Keyring;
  cookies: Cookies;
  /** Origin under which browsers reach the server; undefined: whatever `Host` they name. */
  publicUrl: string | undefined;
}

export function createCsrf({ keyring, cookies, publicUrl }: CsrfOptions): Csrf {
  const tokenOf = (cookie: string): string =>
    createHmac("sha256", keyring.deriveKey("csrf")).update(cookie).digest("base64url");
  // A session's own token only, where there is one: over plain http anybody near could plant a visitor's cookie.
  const cookieOf = (request: IncomingMessage): string | undefined =>
    cookies.read(request, "session") ?? cookies.read(request, "visitor");
  return {
    tokenFor(request) {
      const known = cookieOf(request);
      if (known !== undefined) return { token: tokenOf(known) };
      const visitor = randomBytes(32).toString("base64url");
      return { token: tokenOf(visitor), cookie: cookies.write("visitor", visitor) };
    },
    accepts(request, token) {
      if (typeof token !== "string" || !comesFromUs(request, publicUrl)) return false;
      const cookie = cookieOf(request);
      return cookie !== undefined && equal(tokenOf(cookie), token);
    },
    comesFromUs: (request) => comesFromUs(request, publicUrl),
  };
}

/**
 * What the browser says. `Sec-Fetch-Site` is the better witness: a page with `Referrer-Policy: no-referrer` sends
 * `Origin: null` with its forms (Fetch, "append a request Origin header"). Browsers leave it out on plain http beyond
 * loopback; there, and for programs that send neither, the token alone decides.
 */
function comesFromUs(request: IncomingMessage, publicUrl: string | undefined): boolean {
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin" || site === "none";
  const { origin, host } = request.headers;
  if (origin === undefined || origin === publicUrl) return true;
  if (origin === "null") return publicUrl?.startsWith("https:") !== true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
