const LONGEST = 2_000;

/**
 * Where a person wanted to go before they signed in: a path of our own, or `/`. Browsers drop tabs and line ends
 * inside of URLs and read `\` as `/`, so that `/\t/evil.example` would lead to another site.
 */
export function ownPath(text: unknown): string {
  if (typeof text !== "string" || text.length > LONGEST) return "/";
  return /^\/(?![/\\])[^\p{Cc}\s\\]*$/u.test(text) ? text : "/";
}
