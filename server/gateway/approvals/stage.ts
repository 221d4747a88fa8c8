/** Step 6 of a call: whether a person approved it, and if not, what is to happen. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { canonicalJson } from "../../connections/digest.ts";
import { ERRORS, type ErrorCode, JackfieldError } from "../../errors.ts";
import type { ApprovalRow } from "../../store/models/approvals.ts";
import type { AuthorizationNeed } from "../authorization.ts";
import type { Reach } from "../call.ts";
import type { GatewayCaller } from "../caller.ts";
import type { ToolEntry } from "../toolset.ts";
import { approvalRequired } from "./answers.ts";
import type { Binding } from "./binding.ts";
import type { Decisions } from "./decisions.ts";
import { type Approval, ruleOf } from "./record.ts";
import type { Register } from "./register.ts";

export interface ApprovalParts {
  readonly register: Register;
  readonly decisions: Decisions;
  /** The page on which one is decided. */
  readonly url: (id: string) => string;
  /** The caller as it is now, after a wait; undefined where its token or its endpoint is gone. */
  readonly renew: (caller: GatewayCaller) => Promise<GatewayCaller | undefined>;
  /** Milliseconds that a call waits for a decision where its client can wait. */
  readonly waitMs: number;
}

/** A record that was taken, and in which round of questions its call is. */
export interface ApprovalUse {
  readonly id: string;
  readonly round: number;
}

export interface Stage {
  readonly caller: GatewayCaller;
  readonly entry: ToolEntry;
  /** The prepared arguments; what was given with a named approval is compared with what it holds. */
  readonly args: JsonObject;
  readonly reach: Reach;
  /** The approval that the caller names; undefined: the identical call finds its own. */
  readonly named: Approval | undefined;
  /** Whether the call may wait: once. */
  readonly patient: boolean;
  /** Tells the audit that the call was proposed, before anybody can decide. */
  readonly proposed: (approval: Approval, fresh: boolean) => void;
  /** What has to be done before the connection can be used: an approval is not spent on it. */
  readonly need: () => Promise<AuthorizationNeed | undefined>;
}

export type Passage =
  | { readonly kind: "approved"; readonly args: JsonObject; readonly use: ApprovalUse }
  | { readonly kind: "proposed"; readonly result: JsonObject }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly text: string; readonly rule: string }
  | { readonly kind: "unauthorized"; readonly need: AuthorizationNeed }
  /** It was decided while the call waited: everything is looked at again. */
  | { readonly kind: "decided"; readonly id: string };

/** Looks for the approval of a call, takes it, or proposes the call. Errors: those of the database. */
export async function passApproval(parts: ApprovalParts, stage: Stage): Promise<Passage> {
  const { register } = parts;
  const binding = register.bind(stage.caller, stage.entry, stage.args);
  const { continues } = stage.reach;
  if (continues !== undefined) {
    if (!(await register.proceed(continues.id, continues.round, binding)))
      return refused("approval_used", continues.id);
    return { kind: "approved", args: stage.args, use: { id: continues.id, round: continues.round + 1 } };
  }
  if (stage.named !== undefined) return passNamed(parts, stage, stage.named, binding);
  for (;;) {
    const found = await register.settled(binding);
    if (found === undefined) break;
    if (found.state === "refused") return refused("approval_refused", found.id, refusedText(found));
    const passage = await take(parts, stage, found, binding);
    // Where another call was faster there may be one more approval of the same call.
    if (passage !== undefined) return passage;
  }
  try {
    const { approval, fresh } = await register.propose(
      stage.caller,
      stage.entry,
      binding,
      stage.args,
      deciderOf(stage.caller, stage.entry),
    );
    stage.proposed(approval, fresh);
    return await waitOrAnswer(parts, stage, approval);
  } catch (error) {
    if (!(error instanceof JackfieldError) || error.code !== "approval_impossible") throw error;
    return { kind: "refused", code: error.code, text: error.message, rule: "approval" };
  }
}

/** A call by the id of its approval: it runs what was approved, or says why not. */
async function passNamed(parts: ApprovalParts, stage: Stage, named: Approval, current: Binding): Promise<Passage> {
  const { register } = parts;
  if (await register.expire(named)) {
    return refused("approval_expired", named.id);
  }
  if (named.policyRevision !== current.policyRevision || named.connectionId !== current.connectionId) {
    return refused("approval_changed", named.id);
  }
  if (canonicalJson(await register.argumentsOf(named.id)) !== canonicalJson(stage.args)) {
    return refused("approval_changed", named.id);
  }
  switch (named.state) {
    case "pending":
      stage.proposed(named, false);
      return waitOrAnswer(parts, stage, named);
    case "refused":
      return refused("approval_refused", named.id, refusedText(named));
    case "approved": {
      // Its own digest: the master key may have been changed since.
      const binding = { ...current, argumentsDigest: named.argumentsDigest };
      return (await take(parts, stage, named, binding)) ?? refused("approval_used", named.id);
    }
    case "used":
    case "expired":
      return refused(`approval_${named.state}`, named.id);
  }
}

async function take(
  { register }: ApprovalParts,
  stage: Stage,
  approval: Approval,
  binding: Binding,
): Promise<Passage | undefined> {
  const need = await stage.need();
  if (need) return { kind: "unauthorized", need };
  const args = await register.claim(approval, binding);
  return args && { kind: "approved", args, use: { id: approval.id, round: 0 } };
}

async function waitOrAnswer(parts: ApprovalParts, stage: Stage, approval: Approval): Promise<Passage> {
  const { entry, reach, caller } = stage;
  const url = parts.url(approval.id);
  // Who is asked in their own client is asked at once.
  const asked = approval.decider === "caller" && reach.confirms === true;
  if (stage.patient && reach.waits === true && !asked) {
    reach.progress?.({ progress: 0, message: `Waiting for a person to approve: ${url}` });
    const decided = await parts.register.decided(approval.id, reach.signal, parts.waitMs);
    if (reach.signal.aborted)
      return { kind: "refused", code: "cancelled", text: ERRORS.cancelled.text, rule: ruleOf(approval.id) };
    if (decided !== undefined) return { kind: "decided", id: approval.id };
  }
  return { kind: "proposed", result: approvalRequired(approval, entry, url, caller.toolset.transparent) };
}

/** Who decides about a call: below the operator's floor always another person. */
function deciderOf({ principal }: GatewayCaller, { connection, floor }: ToolEntry): ApprovalRow["decider"] {
  return connection.approvals?.decider === "caller" && principal.kind === "person" && !floor ? "caller" : "approver";
}

function refused(code: ErrorCode, id: string, text: string = ERRORS[code].text): Passage {
  return { kind: "refused", code, text, rule: ruleOf(id) };
}

function refusedText({ deciderName, reason }: Approval): string {
  const who = deciderName === null ? "" : ` ${deciderName} refused it.`;
  return `${ERRORS.approval_refused.text}${who}${reason === null ? "" : ` Reason: ${reason}`}`;
}
