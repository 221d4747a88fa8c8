/** Where an authorization may send its answer: which redirect URIs are accepted, and how they are described. */

/** Who may receive answers: anybody, clients we know, or programs on the person's own machine only. */
export type RedirectPolicy = "open" | "known-hosts" | "loopback-only";

export type RedirectKind = "loopback" | "web" | "scheme";

export interface Redirect {
  readonly uri: string;
  readonly kind: RedirectKind;
  /** Host with port of a web or loopback target, the scheme with its colon of another. */
  readonly target: string;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const MAX_LENGTH = 2_000;

/** Schemes that a browser runs, reads or shows itself, so that no program would receive the answer. */
const DANGEROUS = new Set(
  "javascript data vbscript file filesystem blob about ws wss ftp view-source intent content jar mailto tel sms".split(
    " ",
  ),
);

/** Hosts of hosted clients seen in the wild; see the sources of the quirk tests. */
const KNOWN_HOSTS: ReadonlySet<string> = new Set([
  "claude.ai",
  "claude.com",
  "chatgpt.com",
  "chat.openai.com",
  "platform.openai.com",
  "vscode.dev",
  "insiders.vscode.dev",
  "www.cursor.com",
  "cursor.com",
  "global.consent.azure-apim.net",
  "grok.com",
  "gemini.google.com",
]);
const KNOWN_SCHEMES: ReadonlySet<string> = new Set(["cursor:", "vscode:", "vscode-insiders:", "windsurf:", "zed:"]);

/** Reads a redirect URI; where it cannot be accepted at all, the problem as a sentence. */
export function readRedirect(uri: unknown): Redirect | { problem: string } {
  if (typeof uri !== "string" || uri.length > MAX_LENGTH || !URL.canParse(uri)) {
    return { problem: `redirect_uris must be URIs of at most ${MAX_LENGTH} characters` };
  }
  const { protocol, hostname, host, username, password } = new URL(uri);
  if (uri.includes("#")) return { problem: "redirect_uris must not have a fragment" };
  if (username !== "" || password !== "") return { problem: "redirect_uris must not carry a user name" };
  // A control character or blank is dropped or moved by some parsers: two readers would see two targets.
  if (/[\p{Cc}\p{Cf}\s\\]/u.test(uri)) return { problem: "redirect_uris must not hold blanks or backslashes" };
  const scheme = protocol.slice(0, -1);
  if (DANGEROUS.has(scheme) || scheme.startsWith("chrome") || scheme.startsWith("moz-")) {
    return { problem: `redirect_uris must not use the ${scheme} scheme` };
  }
  if (protocol === "https:") return { uri, kind: LOOPBACK.has(hostname) ? "loopback" : "web", target: host };
  if (protocol !== "http:") return { uri, kind: "scheme", target: protocol };
  if (LOOPBACK.has(hostname)) return { uri, kind: "loopback", target: host };
  return { problem: "redirect_uris may use plain http for loopback addresses only" };
}

/** Whether the operator's policy lets answers go there. */
export function permits(policy: RedirectPolicy, { kind, uri }: Redirect): boolean {
  if (policy === "open" || kind === "loopback") return true;
  if (policy === "loopback-only") return false;
  const { hostname, protocol } = new URL(uri);
  return kind === "web" ? KNOWN_HOSTS.has(hostname) : KNOWN_SCHEMES.has(protocol);
}

/**
 * `native` where an answer goes to a program on the person's machine. The library's default, `web`, would forbid
 * custom schemes and the free port of RFC 8252 section 7.3; clients leave `application_type` out or say it wrong.
 */
export function applicationType(redirects: readonly Redirect[]): "web" | "native" {
  // https on loopback is not allowed to native clients by the library, and needs no free port.
  return redirects.every(({ uri }) => uri.startsWith("https:")) ? "web" : "native";
}
