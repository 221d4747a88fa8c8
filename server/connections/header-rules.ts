/** Which headers a connection may carry with every request, and what a header can carry at all (RFC 9110, 5.5). */

/** Credentials have a place of their own. */
const CREDENTIALS = new Set(["authorization", "proxy-authorization", "cookie"]);

/** Set by us, by the protocol or by the connection to the server; a second opinion would break one of them. */
const OURS = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "dpop",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);
const OUR_PREFIXES = ["mcp-", "proxy-", "jackfield-"];

export interface HeaderProblem {
  readonly name: string;
  readonly message: string;
}

/** Everything wrong with the static headers of a connection. */
export function headerProblems(headers: Readonly<Record<string, string>>): HeaderProblem[] {
  const seen = new Set<string>();
  return Object.entries(headers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    const message = seen.has(lower) ? "stands here twice" : headerProblem(lower, value);
    seen.add(lower);
    return message === undefined ? [] : [{ name, message }];
  });
}

function headerProblem(lower: string, value: string): string | undefined {
  if (CREDENTIALS.has(lower)) return "carries credentials and does not belong here; use auth";
  if (isOurs(lower)) return "is set by the proxy itself";
  if (!isHeaderValue(value)) return "must be printable ASCII without blanks at either end";
  return undefined;
}

/** Why an API key may not be sent in a header of this name. `Authorization` may: it gets exactly the value. */
export function keyHeaderProblem(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (lower === "proxy-authorization" || isOurs(lower)) return "is set by the proxy itself";
  return undefined;
}

function isOurs(lower: string): boolean {
  return OURS.has(lower) || OUR_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/** Whether a text can be the value of a header: printable ASCII, no blanks at either end. */
export function isHeaderValue(value: string): boolean {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
}
