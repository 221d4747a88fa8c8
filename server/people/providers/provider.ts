/** What a sign-in provider is, whatever its protocol. */
import type { SignInProviderFile } from "../../connections/sign-in-schema.ts";
import type { ExternalIdentity } from "./identity.ts";

/** What has to be remembered between the way there and the way back. */
export type ProtocolSession = Readonly<Record<string, unknown>>;

export interface SignInProvider {
  readonly file: SignInProviderFile;
  readonly label: string;
  /**
   * Where the browser goes.
   * @param state comes back with the answer, unchanged
   */
  begin(state: string): Promise<{ url: string; session: ProtocolSession }>;
  /**
   * Reads the answer that came back and checks everything about it but the state. Rejects with `SignInRefused` where it
   * is not good.
   * @param answer the query of the callback, or the form that was posted to it
   */
  finish(answer: URLSearchParams, session: ProtocolSession): Promise<ExternalIdentity>;
  /** The document that describes us to the other server, where its protocol has one. */
  metadata?(): string;
}

/** An answer of a provider that lets nobody in. `reason` is for log and audit. */
export class SignInRefused extends Error {
  override readonly name = "SignInRefused";
  readonly reason: string;
  /** Whether the person themself said no there. */
  readonly declined: boolean;
  constructor(reason: string, options: { declined?: boolean; cause?: unknown } = {}) {
    super(reason, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.declined = options.declined === true;
  }
}
