/** Who may decide about a call that needs an approval (design section 7, "Approvals"). */
import { compileNames } from "./glob.ts";

/** Whoever wants to decide, as far as it matters. */
export interface Decider {
  /** `operator`: whoever runs commands on the host. */
  readonly kind: "person" | "agent" | "operator";
  /** Key of the principal; undefined for the operator. */
  readonly key: string | undefined;
  /** Whether they have `approvals:decide` in the organization of the call. */
  readonly permitted: boolean;
}

/** What was laid down when the call was proposed. */
export interface ApprovalTerms {
  /** Key of the principal that called. */
  readonly callerKey: string;
  readonly decider: "approver" | "caller";
  readonly selfApprove: boolean;
}

export type DeciderObjection = "agent" | "own_call" | "not_permitted";

/**
 * Why somebody may not decide; undefined where they may. Nobody approves their own call unless the connection says so;
 * anybody may withdraw it, which is to refuse it.
 */
export function objectionToDecider(
  terms: ApprovalTerms,
  decider: Decider,
  approve: boolean,
): DeciderObjection | undefined {
  if (decider.kind === "operator") return undefined;
  if (decider.kind === "agent") return "agent";
  if (decider.key === terms.callerKey) {
    if (!approve || terms.decider === "caller" || (terms.selfApprove && decider.permitted)) return undefined;
    return "own_call";
  }
  return decider.permitted ? undefined : "not_permitted";
}

/** The operator's floor: calls that another person must approve, whatever their connection says. */
export interface ApprovalFloor {
  /** Equal for equal floors. */
  readonly revision: string;
  /** @param name public name @param upstream `<connection>__<the upstream's own name>` */
  covers(name: string, upstream: string): boolean;
}

/** Reads the floor's patterns. @throws GlobError where one cannot be read (files are checked before) */
export function approvalFloor(patterns: readonly string[]): ApprovalFloor {
  const matches = compileNames(patterns);
  return { revision: patterns.join("\n"), covers: (name, upstream) => matches(name) || matches(upstream) };
}
