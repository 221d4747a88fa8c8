/**
 * Classes: what a tool may do, decided by the reviewed patterns of its connection over the upstream's own names
 * (design section 7, "Classes"). Write wins over read; a tool that matches neither has no class and does not exist
 * for callers. Nothing below a connection's rules can lift them.
 */
import { compileNames } from "./glob.ts";

export type ToolClass = "read" | "write";
export type Approval = "none" | "required";

/** `access` of a connection after its file was read; every pattern is over upstream names. */
export interface AccessRules {
  read: string[];
  write: string[];
  approval: { read?: "always"; write?: "always"; tools: Record<string, "always" | "never"> };
  preset?: "read-only" | "approval-required";
  /** Narrows to these actions where present. */
  expose?: string[];
  disable: string[];
  resources: string[];
  prompts: string[];
  /** `access: suggested`: the author of the file trusts the upstream's own annotations. */
  suggested: boolean;
}

/** Rules compiled once per connection; pure. */
export interface CompiledAccess {
  /** `annotations` of the reviewed definition are read only where the rules say `suggested`. */
  classOf(upstreamName: string, annotations?: ToolAnnotations): ToolClass | undefined;
  approvalOf(upstreamName: string, toolClass: ToolClass): Approval;
  resource(uri: string): boolean;
  prompt(upstreamName: string): boolean;
}

export interface ToolAnnotations {
  readonly readOnlyHint?: unknown;
}

/**
 * Compiles a connection's rules.
 * @throws GlobError where a pattern cannot be read
 */
export function compileAccess(rules: AccessRules): CompiledAccess {
  const read = compileNames(rules.read);
  const write = compileNames(rules.write);
  const exposed = rules.expose === undefined ? () => true : compileNames(rules.expose);
  const disabled = compileNames(rules.disable);
  const byTool = Object.entries(rules.approval.tools).map(([pattern, when]) => ({
    when,
    exact: pattern,
    matches: compileNames([pattern]),
  }));

  const classOf = (upstreamName: string, annotations?: ToolAnnotations): ToolClass | undefined => {
    if (disabled(upstreamName) || !exposed(upstreamName)) return undefined;
    let toolClass: ToolClass | undefined;
    if (write(upstreamName)) toolClass = "write";
    else if (read(upstreamName)) toolClass = "read";
    else if (rules.suggested) toolClass = suggestClass(annotations);
    return toolClass === "write" && rules.preset === "read-only" ? undefined : toolClass;
  };

  const approvalOf = (upstreamName: string, toolClass: ToolClass): Approval => {
    // The preset is a floor: a rule for one tool cannot go below it.
    if (rules.preset === "approval-required" && toolClass === "write") return "required";
    const matching = byTool.filter((rule) => rule.matches(upstreamName));
    // The tool's own name says more than a pattern; between patterns the stricter one wins.
    const own = matching.find((rule) => rule.exact === upstreamName);
    if (own !== undefined) return own.when === "always" ? "required" : "none";
    if (matching.length > 0) return matching.some((rule) => rule.when === "always") ? "required" : "none";
    return rules.approval[toolClass] === "always" ? "required" : "none";
  };

  return { classOf, approvalOf, resource: compileNames(rules.resources), prompt: compileNames(rules.prompts) };
}

/** What an upstream's annotations suggest: read only where it says so itself (MCP: the hint defaults to false). */
export function suggestClass(annotations: ToolAnnotations | undefined): ToolClass {
  return annotations?.readOnlyHint === true ? "read" : "write";
}

const compiled = new WeakMap<AccessRules, CompiledAccess>();

/** `compileAccess`, remembered per rules object; rules are not changed after they were read. Throws GlobError. */
export function accessOf(rules: AccessRules): CompiledAccess {
  let access = compiled.get(rules);
  if (access === undefined) {
    access = compileAccess(rules);
    compiled.set(rules, access);
  }
  return access;
}

/** The class of a tool by its upstream name, or undefined where it is hidden. Throws GlobError. */
export function classify(
  upstreamName: string,
  rules: AccessRules,
  annotations?: ToolAnnotations,
): ToolClass | undefined {
  return accessOf(rules).classOf(upstreamName, annotations);
}

/** Whether a call of the tool needs a person's approval first. Throws GlobError. */
export function approvalOf(upstreamName: string, toolClass: ToolClass, rules: AccessRules): Approval {
  return accessOf(rules).approvalOf(upstreamName, toolClass);
}
