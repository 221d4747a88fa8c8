/**
 * Session variables in patterns: `${{name}}` and `${{name.path}}`. Values come from the agent token, the sign-in's
 * claims, the endpoint and the client; never from the request itself. A value is spliced in as literal text, so
 * nothing in it can act as a pattern and widen a guard.
 */
import type { GlobNode } from "./glob.ts";

/** Variables of one caller; `${{principal.email}}` reads `principal` and then `email`. */
export type Variables = { readonly [name: string]: unknown };

/**
 * The text of a variable, or undefined where it is not resolved: absent, empty (an empty value would turn
 * `${{team}}/**` into everything), neither text, number nor boolean, or named ambiguously (as a dotted key and as a
 * path, with different values).
 */
export function resolveVariable(name: string, variables: Variables): string | undefined {
  const whole = textOf(ownValue(variables, name));
  if (!name.includes(".")) return whole;
  let value: unknown = variables;
  for (const part of name.split(".")) value = ownValue(value, part);
  const nested = textOf(value);
  if (whole !== undefined && nested !== undefined && whole !== nested) return undefined;
  return nested ?? whole;
}

function ownValue(holder: unknown, key: string): unknown {
  if (typeof holder !== "object" || holder === null || Array.isArray(holder)) return undefined;
  if (!Object.hasOwn(holder, key)) return undefined;
  return Object.getOwnPropertyDescriptor(holder, key)?.value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) return JSON.stringify(value);
  return undefined;
}

/** Names of the variables in a pattern, each once, in order. */
export function variablesOf(nodes: readonly GlobNode[]): string[] {
  const names = new Set<string>();
  const visit = (list: readonly GlobNode[]) => {
    for (const node of list) {
      if (node.kind === "variable") names.add(node.name);
      if (node.kind === "choice") node.of.forEach(visit);
    }
  };
  visit(nodes);
  return [...names];
}

/**
 * Replaces variables by their values as literal text. One that does not resolve makes the whole pattern unusable,
 * also inside an alternative: `unresolved` names it.
 */
export function bindVariables(nodes: readonly GlobNode[], variables: Variables): GlobNode[] | { unresolved: string } {
  const bound: GlobNode[] = [];
  for (const node of nodes) {
    if (node.kind === "variable") {
      const text = resolveVariable(node.name, variables);
      if (text === undefined) return { unresolved: node.name };
      bound.push({ kind: "text", text });
    } else if (node.kind === "choice") {
      const of: GlobNode[][] = [];
      for (const alternative of node.of) {
        const inner = bindVariables(alternative, variables);
        if (!Array.isArray(inner)) return inner;
        of.push(inner);
      }
      bound.push({ kind: "choice", of });
    } else {
      bound.push(node);
    }
  }
  return bound;
}
