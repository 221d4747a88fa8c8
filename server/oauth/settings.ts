/** What the operator decides about the authorization server. */
import type { JackfieldFile } from "../connections/schema.ts";
import type { RedirectPolicy } from "./redirects.ts";

export interface OAuthSettings {
  /** Whether clients may register themselves; `token`: with the operator's initial access token. */
  readonly registration: "open" | "token" | "off";
  /** Undefined where `registration` is no `token`, or its variable is not set: then nobody can register. */
  readonly registrationToken: string | undefined;
  readonly redirects: RedirectPolicy;
  /** Whether client id metadata documents are accepted; `auto`: where documents can be fetched from here. */
  readonly clientDocuments: "auto" | "on" | "off";
  /** Whether documents of a host are read. */
  readonly allowsDocumentHost: (host: string) => boolean;
  readonly accessTokenSeconds: number;
  /** Milliseconds in which a used refresh token works once more. */
  readonly refreshGraceMs: number;
}

/**
 * The settings of `oauth:` in `jackfield.yml`.
 * @param env where the variable of the initial access token is looked up
 */
export function settingsOf(
  file: JackfieldFile["oauth"],
  env: Readonly<Record<string, string | undefined>>,
): OAuthSettings {
  const { registration, redirects, clientDocuments, registrationToken: name, clientDocumentHosts: hosts } = file;
  const registrationToken = name === undefined ? undefined : env[name] || undefined;
  return {
    ...{ registration, redirects, clientDocuments, registrationToken },
    allowsDocumentHost: (host) => hosts === undefined || hosts.some((pattern) => fits(pattern, host)),
    accessTokenSeconds: file.accessTokenMinutes * 60,
    refreshGraceMs: file.refreshGraceSeconds * 1000,
  };
}

/** `*.example.com` is every host below example.com, not itself. */
function fits(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}
