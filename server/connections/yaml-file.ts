/** One YAML file -> a checked value, or problems that name file, line and key. */
import { isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import type { z } from "zod";

/** Something wrong in a file; `file` is relative to the configuration directory. */
export interface Problem {
  file: string;
  /** 1-based. */
  line?: number;
  /** Dotted path of the key, e.g. `connection.auth.method`. */
  key?: string;
  message: string;
}

/** `connections/tracker.yml:7: connection.urll: unknown key` */
export function problemText(problem: Problem): string {
  const where = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}`;
  return problem.key === undefined ? `${where}: ${problem.message}` : `${where}: ${problem.key}: ${problem.message}`;
}

export type Path = readonly PropertyKey[];

/** A file that was read: its plain value, and where each part of it stands. */
export interface YamlFile {
  file: string;
  value: unknown;
  /** The problem at a path; the line is that of the key, or of the nearest part that exists. */
  problem(path: Path, message: string): Problem;
}

/** Longest file that is read; a configuration is written by hand. */
const MAX_FILE = 1024 * 1024;

/** Reads the text of a file; syntax errors, doubled keys and alias bombs come back as problems. */
export function parseYaml(file: string, text: string): { yaml?: YamlFile; problems: Problem[] } {
  if (text.length > MAX_FILE) return { problems: [{ file, message: "the file is larger than 1 MiB" }] };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const problems = [...document.errors, ...document.warnings].map((error) => ({
    file,
    line: lines.linePos(error.pos[0]).line,
    message: error.message.split("\n")[0] ?? "is not YAML",
  }));
  if (problems.length > 0) return { problems };
  const problem = (path: Path, message: string): Problem => {
    const offset = offsetOf(document.contents, path);
    const line = offset === undefined ? undefined : lines.linePos(offset).line;
    return {
      file,
      ...(line === undefined ? {} : { line }),
      ...(path.length === 0 ? {} : { key: path.map(String).join(".") }),
      message,
    };
  };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { problems: [{ file, message: error instanceof Error ? error.message : String(error) }] };
  }
  return { yaml: { file, value, problem }, problems: [] };
}

/** Checks a file against its schema. */
export function checkYaml<Schema extends z.ZodType>(
  yaml: YamlFile,
  schema: Schema,
): { value?: z.output<Schema>; problems: Problem[] } {
  const result = schema.safeParse(yaml.value);
  if (result.success) return { value: result.data, problems: [] };
  return {
    problems: result.error.issues
      .flatMap((issue) => describe(issue, []))
      .map((at) => yaml.problem(at.path, at.message)),
  };
}

type Issue = z.core.$ZodIssue;

/** The issue in the words of the file; a union is told by the alternative that comes closest. */
function describe(issue: Issue, base: Path): { path: Path; message: string }[] {
  const path = [...base, ...issue.path];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({ path: [...path, key], message: "unknown key" }));
    case "invalid_type":
      return [
        {
          path,
          message: issue.input === undefined && isMissing(issue) ? "is missing" : `must be ${article(issue.expected)}`,
        },
      ];
    case "invalid_value":
      return [{ path, message: `must be ${oneOf(issue.values.map(String))}` }];
    case "invalid_union": {
      if (issue.errors.length === 0) {
        return [{ path, message: issue.discriminator === undefined ? "is not valid here" : wrongKind(issue) }];
      }
      const [closest] = [...issue.errors].sort((a, b) => closeness(b) - closeness(a));
      return (closest ?? []).flatMap((inner) => describe(inner, path));
    }
    case "invalid_key":
      return issue.issues.map((inner) => ({ path, message: inner.message }));
    case "too_small":
      return [{ path, message: issue.origin === "number" ? `must be at least ${issue.minimum}` : "must not be empty" }];
    case "too_big":
      return [{ path, message: `is longer than ${issue.maximum}` }];
    default:
      return [{ path, message: issue.message }];
  }
}

function isMissing(issue: Issue): boolean {
  return issue.message.includes("received undefined");
}

function wrongKind(issue: Issue): string {
  const options = "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
  return options.length > 0 ? `must be ${oneOf(options)}` : "is not a kind that exists";
}

/** An alternative whose own type fits is closer than one that failed at its root. */
function closeness(issues: readonly Issue[]): number {
  const depth = Math.max(0, ...issues.map((issue) => issue.path.length));
  const rootFailed = issues.some((issue) => issue.path.length === 0 && issue.code.startsWith("invalid_"));
  return (rootFailed ? 0 : 100) + depth - issues.length / 100;
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? `${values[0]}` : `one of ${values.join(", ")}`;
}

function article(type: string): string {
  const words: Record<string, string> = {
    string: "a text (quote it)",
    array: "a list",
    object: "a map of keys",
    record: "a map of keys",
    number: "a number",
    int: "a whole number",
    boolean: "true or false",
  };
  return words[type] ?? type;
}

/** Where a path stands in the text: the key of its last part, or of the nearest part that exists. */
function offsetOf(root: unknown, path: Path): number | undefined {
  let node: unknown = root;
  let offset = startOf(root);
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part));
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  const range = isNode(node) ? (node as Node).range : undefined;
  return range?.[0];
}
