/**
 * The one pipeline of a tool call, from the resolved name to the answer (design section 4, steps 3 to 10).
 * Every door enters here.
 */

import type { CallContext, JsonObject, Log, Outcome } from "../../adapters/contract.ts";
import { adapterFor } from "../../adapters/index.ts";
import { decide, scopeFor } from "../access/decide.ts";
import type { AssetKeeper } from "../assets/assets.ts";
import type { ConnectionSessions } from "../connections/sessions.ts";
import { ERRORS, type ErrorCode, JackfieldError } from "../errors.ts";
import type { Audit } from "../observe/audit.ts";
import { redactText } from "../observe/redact.ts";
import { type Approval, ruleOf } from "./approvals/record.ts";
import { type ApprovalParts, type ApprovalUse, type Passage, passApproval } from "./approvals/stage.ts";
import type { Schemas } from "./arguments.ts";
import type { Authorizations } from "./authorization.ts";
import { describeCall, describeCaller } from "./call-events.ts";
import type { Door, GatewayCaller } from "./caller.ts";
import type { DurableParts } from "./durable.ts";
import { restoreArguments } from "./portable-schema.ts";
import { resolveTool } from "./resolve.ts";
import { failure } from "./results.ts";
import { asResult, refuseUnauthorized, run } from "./run.ts";
import { missingScope, type StepUp, scopeRefused } from "./step-up.ts";
import type { ToolEntry } from "./toolset.ts";

export interface Gateway extends DurableParts {
  readonly schemas: Schemas;
  readonly sessions: ConnectionSessions;
  readonly authorizations: Authorizations;
  readonly stepUp: StepUp;
  /** The files that are kept for callers. */
  readonly assets: AssetKeeper;
  readonly approvals: ApprovalParts;
  readonly audit: Audit;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds of silence, and in all, after which an upstream is given up. */
  readonly timeouts: { readonly callMs: number; readonly maxMs: number };
}

/** How the caller can be reached during the call; the era of its connection stays behind this. */
export interface Reach extends Omit<CallContext, "timeoutMs" | "maxTimeoutMs" | "assets" | "tasks" | "assertion"> {
  /** Whether the client sees progress, so that a call may take a person's time. */
  readonly waits?: boolean;
  /** Whether the client can put a form to its person. */
  readonly confirms?: boolean;
  /** The retry of an approved call that had a question: which approval, and its round. */
  readonly continues?: ApprovalUse;
}

/** An approved call that has a question names what it goes on with. */
export type CallOutcome = Outcome & { readonly approval?: ApprovalUse };

export interface ToolCall {
  readonly caller: GatewayCaller;
  readonly door: Door;
  readonly name: string;
  /** Undefined with an approval: the arguments are those that were approved. */
  readonly args: unknown;
  /** Id of the approval that the caller names. */
  readonly approval?: string;
  /** Whether the call has waited for its approval already. */
  readonly waited?: boolean;
  /** Made once the tool is known, because what may be asked and forwarded depends on its connection. */
  readonly reach: (entry: ToolEntry) => Reach;
}

/**
 * Runs one call. Refusals and upstream failures are results with `isError`.
 * @throws JackfieldError `unknown_tool`; UpstreamRpcError at a transparent endpoint, which relays it as it is.
 */
export async function callTool(gateway: Gateway, call: ToolCall): Promise<CallOutcome> {
  const started = gateway.clock();
  const entry = resolveOrRecord(gateway, call, started);
  const refuse: Refuse = (code, text, { rule, reason, args }) => {
    gateway.audit.refused({
      ...describeCall(call, entry, args && gateway.audit.digest(args)),
      decision: "refuse",
      rule,
      reason,
      outcomeCode: code,
      durationMs: gateway.clock() - started,
    });
    return asResult(failure(code, text, { tool: entry.name }));
  };

  if (entry.tool.state !== "approved") {
    const reason = `definition is ${entry.tool.state}`;
    return refuse("tool_changed", ERRORS.tool_changed.text, { rule: "review", reason });
  }
  if (call.door === "tool_read" && entry.class !== "read") {
    const text = `${entry.name} can change things. ${ERRORS.class_refused.text}`;
    return refuse("class_refused", text, { rule: "door", reason: "write tool through tool_read" });
  }
  const named = await namedApproval(gateway, call, entry);
  if (named === "unknown") {
    const reason = "no such approval of this caller for this tool";
    return refuse("approval_unknown", ERRORS.approval_unknown.text, { rule: "approval", reason });
  }
  const prepared = await argumentsFor(gateway, call, entry, named);
  if ("problem" in prepared) {
    const { code, text, problem: reason, args } = prepared;
    return refuse(code, text, { rule: "schema", reason, ...(args ? { args } : {}) });
  }
  const { args } = prepared;

  const decision = decide({
    tool: {
      name: entry.name,
      action: entry.action,
      class: entry.class,
      state: entry.tool.state,
      approval: entry.approval,
    },
    grant: entry.grant,
    args,
    variables: call.caller.principal.variables,
    scopes: call.caller.principal.scopes,
    door: call.door,
    upstreamNames: entry.restore,
  });
  if (decision.kind === "refuse") {
    const { code, rule, reason } = decision;
    const refused = refuse(code, `${ERRORS[code].text} ${reason}`, { rule, reason, args });
    if (code !== "scope_refused") return refused;
    const missing = missingScope(gateway.stepUp, call.caller.principal, scopeFor(entry.class));
    return asResult(scopeRefused(missing, { tool: entry.name }));
  }
  const reach = call.reach(entry);
  const need = () => gateway.authorizations.need(entry.connection, call.caller.principal);
  if (decision.kind === "allow" && named === undefined) {
    const missing = await need();
    if (missing) return refuseUnauthorized(gateway, call, entry, args, missing, started);
    return run(gateway, call, entry, { args, rule: decision.rule, reach }, started);
  }
  const passage = await passApproval(gateway.approvals, {
    caller: call.caller,
    entry,
    args,
    reach,
    named,
    patient: call.waited !== true,
    need,
    proposed: (approval, fresh) =>
      gateway.audit.refused({
        ...describeCall(call, entry, gateway.audit.digest(args)),
        decision: "needs_approval",
        rule: ruleOf(approval.id),
        reason: fresh ? `proposed under ${decision.rule}` : "waits for a decision already",
        outcomeCode: "approval_required",
        durationMs: gateway.clock() - started,
      }),
  });
  return follow(gateway, call, entry, { args, reach, passage, refuse }, started);
}

type Refuse = (
  code: ErrorCode,
  text: string,
  why: { readonly rule: string; readonly reason: string; readonly args?: JsonObject },
) => Outcome;

/** What step 6 came to. */
async function follow(
  gateway: Gateway,
  call: ToolCall,
  entry: ToolEntry,
  { args, reach, passage, refuse }: { args: JsonObject; reach: Reach; passage: Passage; refuse: Refuse },
  started: number,
): Promise<CallOutcome> {
  switch (passage.kind) {
    case "approved":
      return run(gateway, call, entry, { ...passage, rule: ruleOf(passage.use.id), reach }, started);
    case "proposed":
      return asResult(passage.result);
    case "refused":
      return refuse(passage.code, passage.text, { rule: passage.rule, reason: passage.text, args });
    case "unauthorized":
      return refuseUnauthorized(gateway, call, entry, args, passage.need, started);
    case "decided": {
      // The policy, the tool or the caller may have changed while the call waited.
      const caller = await gateway.approvals.renew(call.caller);
      if (caller) return callTool(gateway, { ...call, caller, approval: passage.id, waited: true });
      const reason = "the token or the endpoint was taken away while the call waited";
      return refuse("approval_changed", ERRORS.approval_changed.text, { rule: ruleOf(passage.id), reason, args });
    }
  }
}

/** The approval that a caller names, where it is one of this caller for this tool. */
async function namedApproval(
  gateway: Gateway,
  { approval, caller }: ToolCall,
  entry: ToolEntry,
): Promise<Approval | "unknown" | undefined> {
  if (approval === undefined) return undefined;
  const found = await gateway.approvals.register.find(approval, caller);
  return found !== undefined && found.toolName === entry.tool.name ? found : "unknown";
}

type PreparedArguments =
  | { readonly args: JsonObject }
  | { readonly code: ErrorCode; readonly text: string; readonly problem: string; readonly args?: JsonObject };

/** Step 4: the arguments as they will be sent; those of the approval where the caller names one and gives none. */
async function argumentsFor(
  gateway: Gateway,
  call: ToolCall,
  entry: ToolEntry,
  named: Approval | undefined,
): Promise<PreparedArguments> {
  const given = call.args ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    const text = "Arguments must be a JSON object.";
    return { code: "invalid_arguments", text, problem: "arguments are not an object" };
  }
  if (named !== undefined && Object.keys(given).length === 0) {
    try {
      return { args: await gateway.approvals.register.argumentsOf(named.id) };
    } catch (error) {
      if (!(error instanceof JackfieldError)) throw error;
      return { code: error.code, text: error.message, problem: error.detail ?? error.message };
    }
  }
  const { definition } = entry.tool;
  const adapter = adapterFor(entry.connection.type);
  const asNamed = restoreArguments({ ...given }, entry.restore);
  const restored = adapter?.coerce?.(definition, asNamed) ?? asNamed;
  const problem = gateway.schemas.problem(`${entry.tool.hash}:input`, definition.inputSchema, restored);
  if (problem && !call.caller.toolset.transparent) {
    const text = `${ERRORS.invalid_arguments.text} ${problem}. See the schema with tool_search {"query": "select:${entry.name}"}.`;
    return { code: "invalid_arguments", text, problem, args: restored };
  }
  return adapter?.prepare(definition, restored) ?? { args: restored };
}

function resolveOrRecord(gateway: Gateway, call: ToolCall, started: number): ToolEntry {
  try {
    return resolveTool(call.caller.toolset, call.name);
  } catch (error) {
    gateway.audit.refused({
      ...describeCaller(call.caller, call.door),
      toolName: redactText(call.name).slice(0, 128),
      decision: "refuse",
      rule: "visibility",
      reason: "no visible tool has this name",
      outcomeCode: error instanceof JackfieldError ? error.code : "internal",
      durationMs: gateway.clock() - started,
    });
    throw error;
  }
}
