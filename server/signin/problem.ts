/** Why a sign-in upstream cannot begin or did not end well, in words for the page: what happened and what to do. */

export type SignInProblemCode =
  | "unreachable"
  | "blocked_address"
  | "resource_mismatch"
  | "issuer_mismatch"
  | "metadata_unusable"
  | "pkce_unsupported"
  | "insecure_endpoint"
  | "no_registration"
  | "registration_refused"
  | "not_oauth"
  | "app_unusable"
  | "denied"
  | "provider_error"
  | "code_missing"
  | "token_refused"
  | "token_unreachable";

/** `message` is public and names no secret; `detail` is for the log. */
export class SignInProblem extends Error {
  override readonly name = "SignInProblem";
  readonly code: SignInProblemCode;
  readonly detail: string | undefined;
  constructor(code: SignInProblemCode, message: string, options: { detail?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
  }
}

/** The address policy's refusal somewhere in the causes of an error. */
export function blockedIn(error: unknown): Error | undefined {
  let link = error;
  for (let depth = 0; link instanceof Error && depth < 8; depth++) {
    if ("code" in link && (link.code === "blocked_address" || link.code === "loop_detected")) return link;
    link = link.cause;
  }
  return undefined;
}

/** Text of a stranger on one bounded line. */
export function bounded(text: string, limit = 300): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}
