/**
 * A page of ours as a question (URL-mode elicitation), for clients that can open one: the sign-in to a connection, or
 * where a person allows the client more. The answer `accept` says that the person opened the page, not what came of it,
 * so the call waits a while.
 */
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { signInPageOf } from "../../gateway/results.ts";
import { stepUpPageOf } from "../../gateway/step-up.ts";
import type { Scope } from "../../people/principal.ts";
import type { Face } from "../face.ts";

/** Keys of our own questions among the caller's answers. */
export const SIGN_IN_QUESTION = "sign_in";
export const STEP_UP_QUESTION = "step_up";
/** How long a person may take on the page before the call is answered with the link again. */
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
  if (!page || !opensPages(capabilities)) return undefined;
  const label = caller.toolset.served.get(page.connection)?.label ?? page.connection;
  const message = `${label} needs a sign-in first (opens ${new URL(page.url).host}).`;
  return { connection: page.connection, question: urlQuestion(message, page.url) };
}

/** The same for a refused scope. */
export function stepUpQuestion(
  capabilities: JsonObject,
  result: JsonObject,
): { scope: Scope; question: JsonObject } | undefined {
  const page = stepUpPageOf(result);
  if (!page || !opensPages(capabilities)) return undefined;
  const message = `This client was not allowed to do that (${page.scope}). Allow it on a page of ${new URL(page.url).host}.`;
  return { scope: page.scope, question: urlQuestion(message, page.url) };
}

function opensPages({ elicitation }: JsonObject): boolean {
  return typeof elicitation === "object" && elicitation !== null && "url" in elicitation;
}

function urlQuestion(message: string, url: string): JsonObject {
  return { method: "elicitation/create", params: { mode: "url", message, url } };
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

/** Waits for a scope that the person agreed to allow; the caller with it, or as it was. */
export async function awaitStepUp(
  face: Face,
  caller: GatewayCaller,
  scope: Scope,
  answer: JsonObject | undefined,
  signal: AbortSignal,
): Promise<GatewayCaller> {
  if (answer?.["action"] !== "accept") return caller;
  const principal = await face.gateway.stepUp.arrival(caller.principal, scope, signal, PATIENCE_MS);
  return principal === undefined ? caller : { ...caller, principal };
}
