/**
 * The one decision about a call. Pure, deterministic and total: the same input gives the same answer, and every input
 * gives one. `reason` may be shown to the caller; `rule` is for audit.
 */
import type { ErrorCode } from "../errors.ts";
import type { Approval, ToolClass } from "./classes.ts";
import { assembleGlob } from "./glob.ts";
import { type Arguments, checkGuards, type GuardFailure, guardedValues, type UpstreamNames } from "./guards.ts";
import { canonicalPath } from "./paths.ts";
import { type GrantOutcome, type GrantRule, isGrant } from "./policy.ts";
import { bindVariables, type Variables } from "./variables.ts";

/** Where a call came in. Only `tool_read` narrows what may be called. */
export type Door = "by_name" | "tool_read" | "tool_write" | "resource" | "prompt" | "completion" | "try";

export interface DecisionTool {
  readonly name: string;
  readonly action: string;
  readonly class: ToolClass | undefined;
  readonly state: "approved" | "changed" | "pending" | "gone";
  readonly approval: Approval;
}

export interface DecisionInput {
  readonly tool: DecisionTool;
  /** What `grantOf` said about the tool. */
  readonly grant: GrantOutcome;
  /** The arguments as they will be sent (the output of the adapter's `prepare`). */
  readonly args: Arguments;
  readonly variables: Variables;
  readonly scopes: ReadonlySet<string>;
  readonly door: Door;
  readonly upstreamNames?: UpstreamNames | undefined;
}

export type Decision =
  | { readonly kind: "allow"; readonly rule: string }
  | { readonly kind: "refuse"; readonly code: ErrorCode; readonly rule: string; readonly reason: string }
  | { readonly kind: "needs_approval"; readonly rule: string; readonly reason: string };

/** Decides one call. Never throws for any JSON value in the arguments. */
export function decide(input: DecisionInput): Decision {
  const { tool, grant, args, variables, scopes, door, upstreamNames } = input;

  // What the caller may not see answers like what does not exist.
  const unknown = (rule: string) => refuse("unknown_tool", rule, `Unknown tool "${tool.name}".`);
  if (tool.class === undefined) return unknown("class:unclassified");
  if (tool.state === "pending" || tool.state === "gone") return unknown(`review:${tool.state}`);
  if (!isGrant(grant)) {
    if (grant === undefined) return unknown("grant:none");
    return unknown("denied" in grant ? grant.denied : `unbound:${grant.unbound}`);
  }
  if (tool.state === "changed") {
    return refuse("tool_changed", "review:changed", "The tool's definition changed and waits for review.");
  }
  if (door === "tool_read" && tool.class !== "read") {
    return refuse("class_refused", "door:tool_read", "tool_read calls only read tools; use tool_write.");
  }
  const scope = scopeFor(tool.class);
  if (!scopes.has(scope)) return refuse("scope_refused", `scope:${scope}`, `The token lacks the scope ${scope}.`);

  for (const denial of grant.denials) {
    if (isCaught(denial, args, variables, upstreamNames)) {
      return refuse("guard_refused", denial.rule, "The arguments are forbidden here.");
    }
  }
  let failure: GuardFailure | undefined;
  let failedRule = "grant:none";
  for (const rule of grant.rules) {
    const refused = checkGuards(rule, args, variables, upstreamNames);
    if (refused === undefined) {
      if (tool.approval === "none") return { kind: "allow", rule: rule.rule };
      return { kind: "needs_approval", rule: rule.rule, reason: "A person must approve this call first." };
    }
    if (failure === undefined) {
      failure = refused;
      failedRule = rule.rule;
    }
  }
  return refuse("guard_refused", failedRule, failure?.reason ?? "No entry of the policy covers this call.");
}

/** The scope without which no tool of a class is called. */
export function scopeFor(toolClass: ToolClass): "mcp:read" | "mcp:write" {
  return toolClass === "read" ? "mcp:read" : "mcp:write";
}

function refuse(code: ErrorCode, rule: string, reason: string): Decision {
  return { kind: "refuse", code, rule, reason };
}

/**
 * Whether a conditional denial catches the arguments: every argument that it names has a value that matches. A value
 * that cannot be judged (an object, null, a path that leads nowhere, an unresolved variable) counts as a match, and
 * `*` takes separators too, so that nothing slips past by being written oddly. A missing argument does not match.
 */
function isCaught(
  denial: GrantRule,
  args: Arguments,
  variables: Variables,
  upstreamNames: UpstreamNames | undefined,
): boolean {
  return denial.guards.every((guard) => {
    const { values, unreadable } = guardedValues(guard, args, upstreamNames);
    if (unreadable) return true;
    return values.some((value) => {
      const text = guard.path ? canonicalPath(value) : value;
      if (text === undefined) return true;
      return guard.patterns.some((pattern) => {
        const bound = bindVariables(pattern.nodes, variables);
        // On a path `*` keeps stopping at `/`: there the pattern says how deep it reaches.
        return !Array.isArray(bound) || assembleGlob(bound, { name: true, path: guard.path }).test(text);
      });
    });
  });
}
