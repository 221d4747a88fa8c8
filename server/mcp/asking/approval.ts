/**
 * The caller's own approval as a question (form-mode elicitation), where the connection lets signed-in people decide
 * about their own calls and the client can ask them. The answer decides the stored record; the call then finds it.
 */
import type { JsonObject } from "../../../adapters/contract.ts";
import { JackfieldError } from "../../errors.ts";
import { askableApprovalOf, shownArguments } from "../../gateway/approvals/answers.ts";
import type { Person } from "../../gateway/approvals/decisions.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { failure } from "../../gateway/results.ts";
import type { Face } from "../face.ts";

/** Key of the question among the caller's answers. */
export const APPROVAL_QUESTION = "approval";
/** Characters of the arguments that the form shows; where there are more the page shows them all. */
const MAX_SHOWN = 4_000;

/** Whether a client can put a form to its person (`elicitation: {}` means form mode, MCP 2025-11-25). */
export function takesForms(capabilities: JsonObject): boolean {
  const { elicitation } = capabilities;
  return typeof elicitation === "object" && elicitation !== null && ("form" in elicitation || !("url" in elicitation));
}

/** The question to put instead of a refused call; undefined where there is none, or the client cannot put it. */
export async function approvalQuestion(
  face: Face,
  caller: GatewayCaller,
  capabilities: JsonObject,
  result: JsonObject,
): Promise<{ approval: string; question: JsonObject } | undefined> {
  const asked = askableApprovalOf(result);
  if (asked === undefined || caller.principal.kind !== "person" || !takesForms(capabilities)) return undefined;
  const { decisions, url } = face.gateway.approvals;
  const { approval, args } = await decisions.show(personOf(caller), asked.id);
  const text = shownArguments(args);
  // What is not shown whole is not approved here.
  if (text.length > MAX_SHOWN) return undefined;
  const message = `${approval.toolName} is to be called with exactly this:\n${text}\nAll about it: ${url(asked.id)}`;
  const decision = {
    type: "string",
    title: "Your decision",
    description: "approve runs it once; refuse ends it",
    enum: ["approve", "refuse"],
  };
  const requestedSchema = { type: "object", properties: { decision }, required: ["decision"] };
  return {
    approval: asked.id,
    question: { method: "elicitation/create", params: { mode: "form", message, requestedSchema } },
  };
}

/**
 * Takes the answer to the question. Gives the result that ends the call where it was refused or cannot be decided;
 * undefined where the call goes on: approved, or left undecided.
 */
export async function takeApprovalAnswer(
  face: Face,
  caller: GatewayCaller,
  id: string,
  answer: JsonObject | undefined,
): Promise<JsonObject | undefined> {
  const approve = choiceOf(answer);
  if (approve === undefined) return undefined;
  try {
    await face.gateway.approvals.decisions.decide(personOf(caller), id, { approve });
  } catch (error) {
    // Somebody decided on the page meanwhile: what they said is found by the call itself.
    if (error instanceof JackfieldError && error.code === "approval_decided") return undefined;
    if (error instanceof JackfieldError) return failure(error.code, error.message, { approval: id });
    throw error;
  }
  return approve
    ? undefined
    : failure("approval_refused", "You refused this call, so nothing was done.", { approval: id });
}

/** True: approve, false: refuse, undefined: the form was put away. */
function choiceOf(answer: JsonObject | undefined): boolean | undefined {
  if (answer?.["action"] === "decline") return false;
  const { content } = answer ?? {};
  if (answer?.["action"] !== "accept" || typeof content !== "object" || content === null) return undefined;
  const decision: unknown = "decision" in content ? content.decision : undefined;
  return decision === "approve" ? true : decision === "refuse" ? false : undefined;
}

/** The caller as somebody who decides about their own calls and no others. */
function personOf({ principal }: GatewayCaller): Person {
  return {
    kind: principal.kind,
    key: principal.key,
    permitted: false,
    organizationId: principal.organizationId,
    principalKind: principal.kind,
    principalIssuer: principal.issuer,
    principalSubject: principal.subject,
    principalName: principal.name,
  };
}
