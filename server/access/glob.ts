/**
 * Patterns of guards, classes and policies (design section 7, "Guards"). A pattern is compiled into a small
 * non-deterministic automaton and run over the value once, so a match costs at most
 * `(value length + 1) * pattern size` steps whatever both hold: no backtracking, no regular expressions.
 *
 * `?`      one character that `*` would take
 * `*`      any run, except separators that could smuggle a second value in: `,` `;` and their look-alikes, line and
 *          paragraph separators, control characters; on a path also `/` and what looks or acts like it
 * `**`     any run of anything
 * `{a,b}`  alternatives, nested where needed
 * `\`      takes the next character literally
 * `${{x}}` a session variable, taken literally (see variables.ts)
 *
 * Matching is of the whole string and case-sensitive; characters are Unicode code points.
 */

/** A pattern that cannot be read; `message` says what is wrong and where (0-based offset). */
export class GlobError extends Error {
  override readonly name = "GlobError";
}

export interface GlobOptions {
  /** The value is a canonical path: `*` and `?` also stop at `/`. */
  path?: boolean;
  /**
   * The value is a name (tool, URI): `*` and `?` take every character; nothing can be smuggled into a name.
   * With `path` as well they stop at `/` alone: denials are read this widely.
   */
  name?: boolean;
}

export type GlobNode =
  | { kind: "text"; text: string }
  | { kind: "one" }
  | { kind: "run" }
  | { kind: "any" }
  | { kind: "choice"; of: GlobNode[][] }
  | { kind: "variable"; name: string };

/** Longest accepted pattern in UTF-16 units: bounds the automaton and so the cost of a step. */
const MAX_PATTERN = 2048;
const MAX_DEPTH = 8;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/;

/** Reads a pattern. Throws GlobError. */
export function parseGlob(pattern: string): GlobNode[] {
  if (pattern.length > MAX_PATTERN) throw new GlobError(`the pattern is longer than ${MAX_PATTERN} characters`);
  const reader = { pattern, at: 0 };
  const nodes = parseSequence(reader, 0);
  if (reader.at < pattern.length) throw new GlobError(`unexpected "}" at ${reader.at}; write "\\}" for the character`);
  return nodes;
}

/** Reads until the end, or inside a choice until the `,` or `}` that ends this alternative. */
function parseSequence(reader: { pattern: string; at: number }, depth: number): GlobNode[] {
  const { pattern } = reader;
  const nodes: GlobNode[] = [];
  let text = "";
  const push = (node: GlobNode) => {
    if (text !== "") nodes.push({ kind: "text", text });
    text = "";
    nodes.push(node);
  };
  while (reader.at < pattern.length) {
    const c = pattern[reader.at]!;
    if (c === "\\") {
      if (reader.at + 1 >= pattern.length) throw new GlobError('the pattern ends in a lone "\\"');
      text += pattern[reader.at + 1]!;
      reader.at += 2;
    } else if (c === "*") {
      const double = pattern[reader.at + 1] === "*";
      push({ kind: double ? "any" : "run" });
      reader.at += double ? 2 : 1;
    } else if (c === "?") {
      push({ kind: "one" });
      reader.at += 1;
    } else if (c === "$" && pattern.startsWith("${{", reader.at)) {
      push(parseVariable(reader));
    } else if (c === "{") {
      push(parseChoice(reader, depth + 1));
    } else if (c === "}" || (c === "," && depth > 0)) {
      break;
    } else {
      text += c;
      reader.at += 1;
    }
  }
  if (text !== "") nodes.push({ kind: "text", text });
  return nodes;
}

function parseVariable(reader: { pattern: string; at: number }): GlobNode {
  const end = reader.pattern.indexOf("}}", reader.at);
  const name = end < 0 ? "" : reader.pattern.slice(reader.at + 3, end).trim();
  if (!VARIABLE_NAME.test(name)) throw new GlobError(`"\${{" at ${reader.at} does not name a variable`);
  reader.at = end + 2;
  return { kind: "variable", name };
}

function parseChoice(reader: { pattern: string; at: number }, depth: number): GlobNode {
  const start = reader.at;
  if (depth > MAX_DEPTH) throw new GlobError(`"{" at ${start} is nested more than ${MAX_DEPTH} deep`);
  const of: GlobNode[][] = [];
  do {
    reader.at += 1; // "{" or ","
    of.push(parseSequence(reader, depth));
  } while (reader.pattern[reader.at] === ",");
  if (reader.pattern[reader.at] !== "}") throw new GlobError(`"{" at ${start} is not closed`);
  reader.at += 1;
  return { kind: "choice", of };
}

/** Whether a character ends a `*` run in an ordinary value. */
export function isSeparator(c: number): boolean {
  return (
    c < 0x20 || // C0 controls, newlines among them
    (c >= 0x7f && c <= 0x9f) || // DEL and the C1 controls
    c === 0x2c || // ,
    c === 0x3b || // ;
    c === 0xff0c || // fullwidth comma
    c === 0xff1b || // fullwidth semicolon
    c === 0x037e || // Greek question mark, drawn as ;
    c === 0x2028 || // line separator
    c === 0x2029 // paragraph separator
  );
}

/** `/`, and the characters that an upstream on another system, or one that normalises, reads as `/`. */
function isPathSeparator(c: number): boolean {
  return c === 0x2f || c === 0x5c || c === 0xff0f || c === 0xff3c || c === 0x2215 || c === 0x2044;
}

type Instruction =
  | { op: "char"; c: number }
  | { op: "one" }
  | { op: "run" }
  | { op: "any" }
  | { op: "fork"; to: number[] }
  | { op: "jump"; to: number }
  | { op: "match" };

/** A compiled pattern. `test` and `steps` are pure; `steps` counts visited states, for tests of linearity. */
export interface Glob {
  test(value: string): boolean;
  steps(value: string): { matched: boolean; steps: number };
}

function stopsOf(options: GlobOptions): (c: number) => boolean {
  if (options.name) return options.path ? (c) => c === 0x2f : () => false;
  return options.path ? (c) => isSeparator(c) || isPathSeparator(c) : isSeparator;
}

/**
 * Compiles parsed nodes that hold no variable any more (see `bindVariables`).
 * @throws GlobError where a variable is left
 */
export function assembleGlob(nodes: GlobNode[], options: GlobOptions = {}): Glob {
  const program: Instruction[] = [];
  emit(nodes, program);
  program.push({ op: "match" });
  const stops = stopsOf(options);
  const steps = (value: string) => run(program, stops, value);
  return { test: (value) => steps(value).matched, steps };
}

function emit(nodes: GlobNode[], program: Instruction[]): void {
  for (const node of nodes) {
    if (node.kind === "text") {
      for (const character of node.text) program.push({ op: "char", c: character.codePointAt(0)! });
    } else if (node.kind === "choice") {
      const fork: { op: "fork"; to: number[] } = { op: "fork", to: [] };
      program.push(fork);
      const jumps: { op: "jump"; to: number }[] = [];
      for (const alternative of node.of) {
        fork.to.push(program.length);
        emit(alternative, program);
        const jump: { op: "jump"; to: number } = { op: "jump", to: 0 };
        jumps.push(jump);
        program.push(jump);
      }
      for (const jump of jumps) jump.to = program.length;
    } else if (node.kind === "variable") {
      throw new GlobError(`\${{${node.name}}} has no meaning here`);
    } else {
      program.push({ op: node.kind });
    }
  }
}

/** Runs all states side by side; each is visited at most once per character. */
function run(program: Instruction[], stops: (c: number) => boolean, value: string) {
  const seen = new Uint32Array(program.length);
  let generation = 0;
  let steps = 0;
  let current: number[] = [];
  let next: number[] = [];

  const enter = (start: number, into: number[]) => {
    const pending = [start];
    for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
      if (seen[pc] === generation) continue;
      seen[pc] = generation;
      steps += 1;
      const instruction = program[pc]!;
      if (instruction.op === "fork") pending.push(...instruction.to);
      else if (instruction.op === "jump") pending.push(instruction.to);
      else {
        into.push(pc);
        if (instruction.op === "run" || instruction.op === "any") pending.push(pc + 1);
      }
    }
  };

  generation += 1;
  enter(0, current);
  for (let at = 0; at < value.length && current.length > 0; ) {
    const c = value.codePointAt(at)!;
    at += c > 0xffff ? 2 : 1;
    generation += 1;
    next.length = 0;
    for (const pc of current) {
      const instruction = program[pc]!;
      steps += 1;
      if (instruction.op === "char") {
        if (instruction.c === c) enter(pc + 1, next);
      } else if (instruction.op === "any") {
        enter(pc, next);
      } else if (instruction.op === "run") {
        if (!stops(c)) enter(pc, next);
      } else if (instruction.op === "one") {
        if (!stops(c)) enter(pc + 1, next);
      }
    }
    [current, next] = [next, current];
  }
  return { matched: current.some((pc) => program[pc]!.op === "match"), steps };
}

/**
 * Compiles a pattern without variables into a test of a whole string.
 * @throws GlobError
 */
export function compileGlob(pattern: string, options: GlobOptions = {}): (value: string) => boolean {
  return assembleGlob(parseGlob(pattern), options).test;
}

/** Compiles a list of name patterns; the result is true where one of them matches. Throws GlobError. */
export function compileNames(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !/[*?{}\\$]/.test(pattern)));
  const globs = patterns
    .filter((pattern) => !exact.has(pattern))
    .map((pattern) => compileGlob(pattern, { name: true }));
  return (name) => exact.has(name) || globs.some((glob) => glob(name));
}
