/** What the operator decides about the authorization server. */
import type { JackfieldFile } from "../connections/schema.ts";
import type { RedirectPolicy } from "./redirects.ts";

export interface OAuthSettings {
  /** Whether clients may register themselves. */
  readonly registration: "open" | "off";
  readonly redirects: RedirectPolicy;
  /** Whether client id metadata documents are accepted; `auto`: where documents can be fetched from here. */
  readonly clientDocuments: "auto" | "on" | "off";
  readonly accessTokenSeconds: number;
  /** Milliseconds in which a used refresh token works once more. */
  readonly refreshGraceMs: number;
}

/** The settings of `oauth:` in `jackfield.yml`. */
export function settingsOf(file: JackfieldFile["oauth"]): OAuthSettings {
  const { accessTokenMinutes, refreshGraceSeconds, ...same } = file;
  return { ...same, accessTokenSeconds: accessTokenMinutes * 60, refreshGraceMs: refreshGraceSeconds * 1000 };
}
