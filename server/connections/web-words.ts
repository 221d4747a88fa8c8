/**
 * What people enter in pages and over the API, checked by the schemas of the files.
 *
 * Less may be entered than written in a file: nothing that starts a process, nothing that reads a variable or a file of
 * this machine, and no trust in what a service says of its own tools. Those are for the operator, who owns the files.
 */
import type { z } from "zod";
import type { PolicyEntry } from "../access/policy.ts";
import { JackfieldError } from "../errors.ts";
import { envReferences, findSecrets } from "./file-secrets.ts";
import { connectionConfig, endpointConfig, policyEntryOf, specUrl } from "./from-file.ts";
import { connectionFile, endpointFile, environmentFile } from "./schema.ts";
import type { ConnectionConfig, EndpointConfig } from "./types.ts";
import { checkYaml, type Path } from "./yaml-file.ts";

/** Something wrong in what was entered. */
export interface EntryProblem {
  /** Dotted path of the key, e.g. `auth.method`; empty for the whole. */
  path: string;
  message: string;
}

/** Keys that start a process, or say how; only the operator's files hold them. */
const PROCESS_KEYS = ["command", "cwd", "env"];
const MAX_DEPTH = 40;

/**
 * A connection as it was entered, in the words of a file under `connection:`.
 * @param oauthApps ids of the apps that `jackfield.yml` has
 * @throws JackfieldError `invalid_entry` with every problem
 */
export function enteredConnection(slug: string, entered: unknown, oauthApps: readonly string[]): ConnectionConfig {
  const problems: EntryProblem[] = [];
  for (const key of PROCESS_KEYS) {
    if (isObject(entered) && Object.hasOwn(entered, key)) {
      problems.push({ path: key, message: "commands are declared in the configuration files only" });
    }
  }
  if (problems.length > 0) throw invalidEntry(problems);
  const words = isObject(entered) ? { review: "strict", ...entered } : entered;
  const { connection } = check(connectionFile, "connection", words);
  for (const { path, message } of findSecrets(connection)) problems.push({ path: dotted(path.slice(1)), message });
  for (const path of references(connection, [])) {
    const message = "variables of the server are named in the configuration files only; store a credential instead";
    problems.push({ path: dotted(path), message });
  }
  if (connection.type === "openapi" && !specUrl(connection.spec)?.startsWith("https:")) {
    problems.push({ path: "spec", message: "must be an https URL" });
  }
  if (connection.access === "suggested") {
    const message = "is for files; say which tools read and which write, or accept the suggestions tool by tool";
    problems.push({ path: "access", message });
  }
  const { auth } = connection;
  if (auth?.method === "oauth" && auth.app !== undefined && !oauthApps.includes(auth.app)) {
    problems.push({ path: "auth.app", message: `there is no OAuth app ${auth.app}` });
  }
  if (problems.length > 0) throw invalidEntry(problems);
  return connectionConfig(slug, connection, "/");
}

/**
 * An endpoint as it was entered, in the words of a file under `endpoint:`.
 * @throws JackfieldError `invalid_entry` with every problem
 */
export function enteredEndpoint(slug: string, entered: unknown): EndpointConfig {
  return endpointConfig(slug, check(endpointFile, "endpoint", entered).endpoint);
}

/**
 * The settings of an environment as they were entered, in the words of `environment:`.
 * @throws JackfieldError `invalid_entry` with every problem
 */
export function enteredEnvironment(entered: unknown): { label?: string; parent?: string; forbid: PolicyEntry[] } {
  const { label, parent, tools } = check(environmentFile, "environment", entered).environment;
  return {
    ...(label === undefined ? {} : { label }),
    ...(parent === undefined ? {} : { parent }),
    forbid: tools.forbid.map(policyEntryOf),
  };
}

/** The error that says all that is wrong; `data` is `{ problems }`. */
export function invalidEntry(problems: readonly EntryProblem[]): JackfieldError {
  const text = problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("\n");
  return new JackfieldError("invalid_entry", { text, data: { problems } });
}

function check<Schema extends z.ZodType>(schema: Schema, root: string, words: unknown): z.output<Schema> {
  if (isTooDeep(words, 0)) throw invalidEntry([{ path: "", message: "is nested too deeply" }]);
  const found: EntryProblem[] = [];
  const problem = (path: Path, message: string) => {
    found.push({ path: dotted(path.slice(1)), message });
    return { file: "", message };
  };
  const { value } = checkYaml({ file: "", value: { version: 1, [root]: words }, problem }, schema);
  if (value === undefined) throw invalidEntry(found);
  return value;
}

/** Where a text names a variable of the server. */
function references(value: unknown, path: Path): Path[] {
  if (typeof value === "string") return envReferences(value).length > 0 ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  const entries: [PropertyKey, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, item]) => references(item, [...path, key]));
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((item) => isTooDeep(item, depth + 1));
}

function dotted(path: Path): string {
  return path.map(String).join(".");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
