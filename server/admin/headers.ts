/** What every answer to a browser carries (OWASP Secure Headers; Content Security Policy Level 3). */
import type { Response } from "express";

/** Nothing but our own stylesheet and images; no script at all, so none that somebody smuggled in. */
const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * Sets the headers of a page.
 * @param forms `own`: its forms lead nowhere else. `away`: they may end at another site, because an answer to them
 * redirects there (sign-in, consent); browsers apply `form-action` to redirects, too.
 */
export function setPageHeaders(response: Response, forms: "own" | "away"): void {
  response.set({
    "content-security-policy": forms === "own" ? `${POLICY}; form-action 'self'` : POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
}

/** Sets the headers of a file that is the same for everybody. */
export function setFileHeaders(response: { setHeader(name: string, value: string): unknown }): void {
  response.setHeader("content-security-policy", `${POLICY}; form-action 'none'`);
  response.setHeader("x-content-type-options", "nosniff");
}
