/** `/approvals/<id>`: one exact call, and the two buttons. */
import type { Request, Response } from "express";
import { JackfieldError } from "../errors.ts";
import { shownArguments } from "../gateway/approvals/answers.ts";
import type { Person, ShownApproval } from "../gateway/approvals/decisions.ts";
import { type ApprovalPageParts, decidersOf, shown } from "./approvals.ts";
import { fieldOf } from "./pages.ts";

/** Shows the call exactly as it will be sent. */
export async function showApproval(parts: ApprovalPageParts, request: Request, response: Response): Promise<void> {
  const found = await findApproval(parts, request, response);
  if (found !== undefined) renderApproval(parts, request, response, found.call);
}

/** Takes the decision of a form; afterwards the page shows what came of it. */
export async function sendApproval(parts: ApprovalPageParts, request: Request, response: Response): Promise<void> {
  const found = await findApproval(parts, request, response);
  if (found === undefined) return;
  const { call, person } = found;
  const decision = fieldOf(request.body, "decision");
  const reason = fieldOf(request.body, "reason");
  if (decision !== "approve" && decision !== "refuse") {
    return renderApproval(parts, request, response, call, { problem: "Choose Approve or Refuse." });
  }
  if (decision === "refuse" && reason.trim() === "") {
    const problem = "Say why you refuse: the caller reads it and can do better.";
    return renderApproval(parts, request, response, call, { problem, reason });
  }
  try {
    await parts.decisions.decide(person, call.approval.id, { approve: decision === "approve", reason });
  } catch (error) {
    if (!(error instanceof JackfieldError)) throw error;
    const now = await parts.decisions.show(person, call.approval.id);
    return renderApproval(parts, request, response, now, { problem: error.message, reason });
  }
  response.redirect(303, `/approvals/${call.approval.id}`);
}

/** The approval that the address names, in any organization of the person; where there is none that is answered. */
async function findApproval(
  { pages, decisions }: ApprovalPageParts,
  request: Request,
  response: Response,
): Promise<{ call: ShownApproval; person: Person } | undefined> {
  const signedIn = await pages.requirePerson(request, response);
  if (signedIn === undefined) return undefined;
  for (const person of decidersOf(signedIn)) {
    try {
      return { call: await decisions.show(person, String(request.params["id"])), person };
    } catch (error) {
      if (!(error instanceof JackfieldError) || error.code !== "approval_unknown") throw error;
    }
  }
  pages.renderMessage(response, {
    status: 404,
    title: "There is no such approval",
    text: "It is another organization’s, it is somebody else’s call and you may not decide about calls, or it was forgotten 30 days after its end.",
    action: { label: "Go to the approvals", href: "/approvals" },
  });
  return undefined;
}

function renderApproval(
  { pages, clock }: ApprovalPageParts,
  request: Request,
  response: Response,
  { approval, args, standing, objection }: ShownApproval,
  said: { problem?: string; reason?: string } = {},
): void {
  const view = shown(approval, clock());
  const open = view.state === "pending";
  pages.render(response, {
    view: "approval",
    title: `Approve ${approval.toolName}`,
    wide: true,
    status: said.problem === undefined ? 200 : 422,
    data: {
      ...view,
      id: approval.id,
      args: shownArguments(args),
      open,
      // Who may not approve their own call may still take it back.
      mayApprove: open && standing && objection === undefined,
      mayRefuse: open,
      standing,
      objection: objection?.message ?? "",
      problem: said.problem ?? "",
      typed: said.reason ?? "",
      csrf: pages.csrfToken(request, response),
    },
  });
}
