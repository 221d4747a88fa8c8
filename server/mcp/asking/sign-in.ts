/**
 * The sign-in page as a question (URL-mode elicitation), for clients that can open one. The answer `accept` says that
 * the person opened the page, not that the account is there, so the call waits a while for it.
 */
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { signInPageOf } from "../../gateway/results.ts";
import type { Face } from "../face.ts";

/** Key of our own question among the caller's answers. */
export const SIGN_IN_QUESTION = "sign_in";
/** How long a person may take to sign in before the call is answered with the link again. */
const PATIENCE_MS = 3 * 60_000;

/**
 * The question to put instead of a refused call, and the connection it is about; undefined where there is nothing to
 * open or the client cannot open it.
 */
export function signInQuestion(
  caller: GatewayCaller,
  capabilities: JsonObject,
  result: JsonObject,
): { connection: string; question: JsonObject } | undefined {
  const page = signInPageOf(result);
  const { elicitation } = capabilities;
  const opens = typeof elicitation === "object" && elicitation !== null && "url" in elicitation;
  if (!page || !opens) return undefined;
  const label = caller.toolset.served.get(page.connection)?.label ?? page.connection;
  const message = `${label} needs a sign-in first (opens ${new URL(page.url).host}).`;
  return {
    connection: page.connection,
    question: { method: "elicitation/create", params: { mode: "url", message, url: page.url } },
  };
}

/** Waits for the account of a sign-in that the person agreed to. */
export async function awaitSignIn(
  face: Face,
  caller: GatewayCaller,
  slug: string,
  answer: JsonObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const connection = caller.toolset.served.get(slug);
  if (!connection || answer?.["action"] !== "accept") return;
  await face.gateway.authorizations.arrival(connection, caller.principal, signal, PATIENCE_MS);
}
