/** The conditions of a grant in words: what a model must know to make a call that passes. */
import type { Guard, UpstreamNames } from "./guards.ts";
import type { Grant, GrantRule } from "./policy.ts";

const MOST_RULES = 4;
const MAX_TEXT = 600;

/**
 * What arguments the grant asks for, in one bounded line; undefined where it asks for nothing.
 * @param upstreamNames listed property names and the upstream's, where the listing renamed them
 */
export function conditionsOf(grant: Grant, upstreamNames: UpstreamNames): string | undefined {
  const listed = new Map([...upstreamNames].map(([shown, upstream]) => [upstream, shown]));
  const words = (rule: GrantRule, verb: string) => {
    const parts = rule.guards.map((guard) => guardWords(guard, listed.get(guard.key) ?? guard.key, verb));
    return [...parts, ...(rule.onlyArgs ? ["no other arguments"] : [])].join(", ");
  };
  // One entry without conditions lets every call pass.
  const free = grant.rules.some(({ guards, onlyArgs }) => guards.length === 0 && !onlyArgs);
  const allowed = free ? [] : grant.rules.slice(0, MOST_RULES).map((rule) => words(rule, "must match"));
  const denied = grant.denials.slice(0, MOST_RULES).map((rule) => words(rule, "matches"));
  const sentences = [
    ...(allowed.length > 0 ? [`Only where ${allowed.join("; or ")}.`] : []),
    ...(denied.length > 0 ? [`Never where ${denied.join("; or ")}.`] : []),
  ];
  if (sentences.length === 0) return undefined;
  const text = `Allowed here: ${sentences.join(" ")}`;
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).toWellFormed()}…` : text;
}

function guardWords({ path, optional, patterns }: Guard, key: string, verb: string): string {
  const sources = patterns.map(({ source }) => JSON.stringify(source)).join(" or ");
  return `${key}${optional ? " (if given)" : ""}${path ? " (a path)" : ""} ${verb} ${sources}`;
}
