/**
 * The policy of an endpoint: what it grants and what it, or its environment, forbids (design section 7, "Grants").
 * Denial beats every grant.
 */
import { compileGlob, GlobError } from "./glob.ts";
import { compileGuards, type Guard, type GuardPatterns } from "./guards.ts";

/** A name or pattern, or one with conditions. */
export type PolicyEntry =
  | string
  | {
      tool: string;
      connection?: string;
      args?: Record<string, GuardPatterns>;
      paths?: Record<string, GuardPatterns>;
      onlyArgs?: boolean;
    };

/** A connection as a policy sees it; `collection` is the catalog entry it was made from. */
export interface PolicyConnection {
  readonly slug: string;
  readonly collection?: string | undefined;
}

export interface PolicySource {
  /** Absent: every reviewed tool is granted. Present, also when empty: closed by default. */
  allow?: readonly PolicyEntry[] | undefined;
  forbid: readonly PolicyEntry[];
  environmentForbid: readonly PolicyEntry[];
  connections: readonly PolicyConnection[];
}

/** One entry that covers a tool; `rule` names it for the audit, e.g. `allow[2]`. */
export interface GrantRule {
  readonly rule: string;
  readonly guards: readonly Guard[];
  readonly onlyArgs: boolean;
}

/** A tool is granted where one of `rules` accepts the arguments and none of `denials` catches them. */
export interface Grant {
  readonly rules: readonly GrantRule[];
  readonly denials: readonly GrantRule[];
}

export type GrantOutcome = Grant | { readonly denied: string } | { readonly unbound: string } | undefined;

export interface PolicyTool {
  /** The public name, `<connection>__<action>`. */
  readonly name: string;
  readonly connectionSlug: string;
  /** The upstream's own name. */
  readonly action: string;
}

export interface Policy {
  readonly allow: readonly CompiledEntry[] | undefined;
  readonly forbid: readonly CompiledEntry[];
  /** Entries that bind to nothing, with place and reason; `never`: whatever connections are added. */
  readonly problems: readonly { rule: string; reason: string; never: boolean }[];
}

interface CompiledEntry extends GrantRule {
  readonly covers: (tool: PolicyTool) => boolean;
  /** Why the entry binds to no connection; such an entry grants nothing. */
  readonly unbound: string | undefined;
  /** Its parts contradict each other. */
  readonly never?: boolean;
}

/**
 * Compiles the entries once per version of an environment.
 * @throws GlobError naming the place, where a pattern cannot be read
 */
export function compilePolicy(source: PolicySource): Policy {
  const { connections } = source;
  const allow = source.allow?.map((entry, at) => compileAllow(entry, `allow[${at}]`, connections));
  const forbid = [
    ...source.environmentForbid.map((entry, at) => compileForbid(entry, `environment.forbid[${at}]`, connections)),
    ...source.forbid.map((entry, at) => compileForbid(entry, `forbid[${at}]`, connections)),
  ];
  const problems = [...(allow ?? []), ...forbid].flatMap(({ rule, unbound, never = false }) =>
    unbound === undefined ? [] : [{ rule, reason: unbound, never }],
  );
  return { allow, forbid, problems };
}

const OPEN: GrantRule = { rule: "open", guards: [], onlyArgs: false };

/** What a policy says about one tool, before any argument is known. Undefined: no entry covers it. */
export function grantOf(policy: Policy, tool: PolicyTool): GrantOutcome {
  const denials: GrantRule[] = [];
  for (const entry of policy.forbid) {
    if (!entry.covers(tool)) continue;
    if (entry.guards.length === 0) return { denied: entry.rule };
    denials.push(entry);
  }
  if (policy.allow === undefined) return { rules: [OPEN], denials };
  const rules: GrantRule[] = [];
  let unbound: string | undefined;
  for (const entry of policy.allow) {
    if (!entry.covers(tool)) continue;
    if (entry.unbound === undefined) rules.push(entry);
    else unbound ??= `${entry.rule}: ${entry.unbound}`;
  }
  if (rules.length > 0) return { rules, denials };
  return unbound === undefined ? undefined : { unbound };
}

/** Whether an outcome of `grantOf` is a grant. */
export function isGrant(outcome: GrantOutcome): outcome is Grant {
  return outcome !== undefined && "rules" in outcome;
}

function conditionsOf(entry: PolicyEntry, rule: string) {
  if (typeof entry === "string") return { guards: [], onlyArgs: false };
  return {
    guards: [
      ...compileGuards(entry.args ?? {}, { path: false, place: `${rule}.args` }),
      ...compileGuards(entry.paths ?? {}, { path: true, place: `${rule}.paths` }),
    ],
    onlyArgs: entry.onlyArgs ?? false,
  };
}

function compileAllow(entry: PolicyEntry, rule: string, connections: readonly PolicyConnection[]): CompiledEntry {
  const named = typeof entry === "string" ? undefined : entry.connection;
  const { head, tail } = splitName(typeof entry === "string" ? entry : entry.tool);
  const conditions = conditionsOf(entry, rule);
  const action = actionMatcher(tail, rule);
  const bind = (slugs: (slug: string) => boolean, unbound?: string): CompiledEntry => ({
    rule,
    ...conditions,
    unbound,
    covers: (tool) => slugs(tool.connectionSlug) && action(tool),
  });

  if (head === undefined) {
    // With a connection named, a name of one part is an action of it; else the pattern is over whole names.
    if (named !== undefined) return bind((slug) => slug === named);
    const whole = nameGlob(tail, rule);
    return { rule, ...conditions, unbound: undefined, covers: (tool) => whole(tool.name) };
  }
  if (isPattern(head)) {
    const slugs = nameGlob(head, rule);
    return bind((slug) => slugs(slug) && (named === undefined || slug === named));
  }
  const members = connections.filter((connection) => connection.collection === head).map(({ slug }) => slug);
  if (members.length > 0) {
    const among = (slug: string) => members.includes(slug);
    if (named !== undefined) {
      if (members.includes(named)) return bind((slug) => slug === named);
      return bind(among, `connection "${named}" is not one of the collection "${head}"`);
    }
    if (members.length === 1) return bind(among);
    return bind(among, `the collection "${head}" has several connections (${members.join(", ")}); name one`);
  }
  if (named !== undefined && named !== head) {
    const contradiction = bind(
      (slug) => slug === named || slug === head,
      `"${head}" and connection "${named}" are not the same`,
    );
    // A collection of this name may still come; a connection of it says that it is none.
    return { ...contradiction, never: connections.some(({ slug }) => slug === head) };
  }
  return bind((slug) => slug === head);
}

/** A denial reads its names as widely as it can: as collection and as connection, bound or not. */
function compileForbid(entry: PolicyEntry, rule: string, connections: readonly PolicyConnection[]): CompiledEntry {
  const named = typeof entry === "string" ? undefined : entry.connection;
  const { head, tail } = splitName(typeof entry === "string" ? entry : entry.tool);
  const conditions = conditionsOf(entry, rule);
  const collections = new Map(connections.map(({ slug, collection }) => [slug, collection]));
  const action = actionMatcher(tail, rule);
  const inNamed = (slug: string) => named === undefined || slug === named;
  const heads = head === undefined ? undefined : nameGlob(head, rule);
  const whole = nameGlob(head === undefined ? tail : `${head}__${tail}`, rule);
  const covers = (tool: PolicyTool): boolean => {
    if (!inNamed(tool.connectionSlug)) return false;
    const owners = [tool.connectionSlug, collections.get(tool.connectionSlug)].filter((owner) => owner !== undefined);
    if (heads !== undefined) return whole(tool.name) || (owners.some(heads) && action(tool));
    if (named !== undefined && action(tool)) return true;
    return whole(tool.name) || owners.some((owner) => actionNames(tool).some((name) => whole(`${owner}__${name}`)));
  };
  const never =
    named !== undefined && head !== undefined && heads !== undefined
      ? ![named, collections.get(named)].some((owner) => owner !== undefined && heads(owner))
      : false;
  return {
    rule,
    ...conditions,
    unbound: never ? `"${head}" and connection "${named}" are not the same` : undefined,
    never: never && collections.has(named ?? ""),
    covers,
  };
}

/** The action as callers name it and as its upstream does; an entry may use either. */
function actionNames(tool: PolicyTool): string[] {
  const at = tool.name.indexOf("__");
  return at < 0 ? [tool.action] : [tool.name.slice(at + 2), tool.action];
}

function actionMatcher(pattern: string, rule: string): (tool: PolicyTool) => boolean {
  const matches = nameGlob(pattern, rule);
  return (tool) => actionNames(tool).some(matches);
}

function nameGlob(pattern: string, rule: string): (name: string) => boolean {
  if (!isPattern(pattern)) return (name) => name === pattern;
  try {
    return compileGlob(pattern, { name: true });
  } catch (error) {
    if (error instanceof GlobError) throw new GlobError(`${rule}: ${error.message}`);
    throw error;
  }
}

function isPattern(text: string): boolean {
  return /[*?{}\\]/.test(text);
}

/** Splits `<first part>__<action>` at the first `__` outside alternatives. */
function splitName(pattern: string): { head: string | undefined; tail: string } {
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const c = pattern[at];
    if (c === "\\") at += 1;
    else if (c === "{") depth += 1;
    else if (c === "}") depth -= 1;
    else if (depth === 0 && c === "_" && pattern[at + 1] === "_") {
      return { head: pattern.slice(0, at), tail: pattern.slice(at + 2) };
    }
  }
  return { head: undefined, tail: pattern };
}
