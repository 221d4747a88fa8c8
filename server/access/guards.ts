/**
 * Guards: patterns that the arguments of a call must match (design section 7, "Guards"). They see the arguments as
 * the adapter will send them. Whatever cannot be judged with certainty is refused.
 */
import { assembleGlob, type Glob, GlobError, type GlobNode, parseGlob } from "./glob.ts";
import { canonicalPath } from "./paths.ts";
import { bindVariables, type Variables, variablesOf } from "./variables.ts";

/** Patterns of one argument: one of them must match; `optional` lets a missing argument pass. */
export type GuardPatterns = string[] | { match: string[]; optional: boolean };

export interface Guard {
  /** As authored; `a.b` means the property `a.b` and also `b` inside `a`. */
  readonly key: string;
  readonly segments: readonly string[];
  readonly patterns: readonly GuardPattern[];
  readonly optional: boolean;
  readonly path: boolean;
}

interface GuardPattern {
  readonly source: string;
  readonly nodes: GlobNode[];
  /** Compiled once where no variable is in it. */
  readonly glob: Glob | undefined;
}

/** Why arguments were refused. It names the argument and never repeats its value. */
export interface GuardFailure {
  readonly argument: string;
  readonly why: "missing" | "not text" | "outside" | "unresolved variable" | "unnamed";
  /** A sentence for the caller and the audit. */
  readonly reason: string;
}

export type Arguments = { readonly [name: string]: unknown };

/** How listed property names lead to upstream ones, where the listing had to rename them. */
export type UpstreamNames = ReadonlyMap<string, string>;

const MAX_SEGMENTS = 12;

/**
 * Compiles the `args` or `paths` of an entry. `place` begins the messages.
 * @throws GlobError naming the place
 */
export function compileGuards(patterns: Record<string, GuardPatterns>, options: { path: boolean; place: string }) {
  return Object.entries(patterns).map(([key, value]): Guard => {
    const list = Array.isArray(value) ? value : value.match;
    const segments = key.split(".");
    if (segments.length > MAX_SEGMENTS) throw new GlobError(`${options.place}.${key}: more than ${MAX_SEGMENTS} parts`);
    return {
      key,
      segments,
      optional: !Array.isArray(value) && value.optional,
      path: options.path,
      patterns: list.map((source, at) => compilePattern(source, options.path, `${options.place}.${key}[${at}]`)),
    };
  });
}

function compilePattern(source: string, path: boolean, place: string): GuardPattern {
  try {
    const nodes = parseGlob(path && source.startsWith("./") ? source.slice(2) : source);
    return { source, nodes, glob: variablesOf(nodes).length > 0 ? undefined : assembleGlob(nodes, { path }) };
  } catch (error) {
    if (error instanceof GlobError) throw new GlobError(`${place}: ${error.message}`);
    throw error;
  }
}

/**
 * Checks a call's arguments against every guard of an entry; undefined means that they pass. Total: any JSON value
 * may stand anywhere in `args`.
 */
export function checkGuards(
  entry: { readonly guards: readonly Guard[]; readonly onlyArgs: boolean },
  args: Arguments,
  variables: Variables,
  upstreamNames?: UpstreamNames,
): GuardFailure | undefined {
  for (const guard of entry.guards) {
    const failure = checkGuard(guard, args, variables, upstreamNames);
    if (failure !== undefined) return failure;
  }
  return entry.onlyArgs ? checkNamed(entry.guards, args, upstreamNames) : undefined;
}

function checkGuard(
  guard: Guard,
  args: Arguments,
  variables: Variables,
  upstreamNames: UpstreamNames | undefined,
): GuardFailure | undefined {
  const { values, missing, unreadable } = guardedValues(guard, args, upstreamNames);
  const fail = (why: GuardFailure["why"], text: string): GuardFailure => ({
    argument: guard.key,
    why,
    reason: `Argument "${guard.key}" ${text}.`,
  });
  if (unreadable) return fail("not text", "must be text, a number, true or false (or a list of these)");
  if (missing && !guard.optional) return fail("missing", "is required here");
  if (values.length === 0) return undefined;
  const globs: Glob[] = [];
  let unresolved: string | undefined;
  for (const pattern of guard.patterns) {
    if (pattern.glob !== undefined) {
      globs.push(pattern.glob);
      continue;
    }
    const bound = bindVariables(pattern.nodes, variables);
    if (Array.isArray(bound)) globs.push(assembleGlob(bound, { path: guard.path }));
    else unresolved ??= bound.unresolved;
  }
  for (const value of values) {
    const text = guard.path ? canonicalPath(value) : value;
    if (text !== undefined && globs.some((glob) => glob.test(text))) continue;
    if (unresolved !== undefined)
      return fail("unresolved variable", `depends on \${{${unresolved}}}, which is not set`);
    const wanted = guard.patterns.map((pattern) => JSON.stringify(pattern.source)).join(", ");
    return fail("outside", `is outside what is allowed (${wanted})`);
  }
  return undefined;
}

/** Every text that a guard looks at; shared with denials, which read the outcome the other way round. */
export function guardedValues(guard: Guard, args: Arguments, upstreamNames?: UpstreamNames) {
  const found = { values: [] as string[], unreadable: false };
  const ways: (readonly string[])[] = [guard.segments];
  const upstream = upstreamNames?.get(guard.key);
  if (upstream !== undefined && upstream !== guard.key) ways.push([upstream]);
  const present = ways.map((segments) => gather(args, segments, found));
  return { ...found, missing: !present.includes(true) };
}

/** Collects the values at a key, literal and nested; false where something is missing (a part, or a list's content). */
function gather(
  holder: unknown,
  segments: readonly string[],
  found: { values: string[]; unreadable: boolean },
): boolean {
  if (Array.isArray(holder)) {
    let complete = holder.length > 0;
    for (const element of holder) complete = gather(element, segments, found) && complete;
    return complete;
  }
  if (segments.length === 0) {
    if (typeof holder === "string") found.values.push(holder);
    else if (typeof holder === "boolean" || (typeof holder === "number" && Number.isFinite(holder))) {
      found.values.push(JSON.stringify(holder));
    } else found.unreadable = true;
    return true;
  }
  if (typeof holder !== "object" || holder === null) {
    found.unreadable = true;
    return true;
  }
  let present = false;
  for (let taken = 1; taken <= segments.length; taken += 1) {
    const key = segments.slice(0, taken).join(".");
    if (!Object.hasOwn(holder, key)) continue;
    const value: unknown = Object.getOwnPropertyDescriptor(holder, key)?.value;
    // Every way to read the key is looked at; one that leads somewhere is enough to be present.
    present = gather(value, segments.slice(taken), found) || present;
  }
  return present;
}

/** `onlyArgs`: every property, nested ones included, must be named by a guard. */
function checkNamed(
  guards: readonly Guard[],
  args: Arguments,
  upstreamNames: UpstreamNames | undefined,
): GuardFailure | undefined {
  const names = guards.flatMap((guard) => [guard.key, upstreamNames?.get(guard.key) ?? guard.key]);
  const unnamed = firstUnnamed(args, names, "");
  if (unnamed === undefined) return undefined;
  return { argument: unnamed, why: "unnamed", reason: `Argument "${unnamed}" may not be given here.` };
}

function firstUnnamed(value: unknown, names: readonly string[], prefix: string): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    for (const element of value) {
      const unnamed = firstUnnamed(element, names, prefix);
      if (unnamed !== undefined) return unnamed;
    }
    return undefined;
  }
  for (const [key, inner] of Object.entries(value)) {
    if (names.includes(key)) continue;
    const deeper = names.filter((name) => name.startsWith(`${key}.`)).map((name) => name.slice(key.length + 1));
    if (deeper.length === 0) return prefix + key;
    const unnamed = firstUnnamed(inner, deeper, `${prefix}${key}.`);
    if (unnamed !== undefined) return unnamed;
  }
  return undefined;
}
