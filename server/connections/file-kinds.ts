/** The four kinds of configuration files, each read, checked and explained. */
import { dirname, join, relative, resolve } from "node:path";
import type { z } from "zod";
import { compileNames } from "../access/glob.ts";
import type { PolicyEntry } from "../access/policy.ts";
import { ALWAYS_SET } from "./environment.ts";
import { envReferences, findSecrets } from "./file-secrets.ts";
import { connectionConfig, endpointConfig, policyEntryOf, specFile, specUrl } from "./from-file.ts";
import { isFile, type LoadedConnection, type LoadedEndpoint, type Reading, readText, slugFilesIn } from "./reading.ts";
import {
  type ConnectionFile,
  connectionFile,
  endpointFile,
  environmentFile,
  type JackfieldFile,
  jackfieldFile,
} from "./schema.ts";
import { checkYaml, parseYaml, type YamlFile } from "./yaml-file.ts";

/** What holds without a `jackfield.yml`. */
export const NO_JACKFIELD: JackfieldFile = jackfieldFile.parse({ version: 1 });

export function readJackfield(reading: Reading): JackfieldFile {
  const read = readNamed(reading, reading.root, "jackfield", jackfieldFile);
  if (read === undefined) return NO_JACKFIELD;
  const { registrationToken } = read.value.oauth;
  if (registrationToken !== undefined && (reading.env[registrationToken] ?? "") === "") {
    reading.missing.push(read.yaml.problem(["oauth", "registrationToken"], `Missing ${registrationToken}`));
  }
  for (const [id, app] of Object.entries(read.value.oauthApps)) {
    for (const key of ["clientId", "clientSecret"] as const) {
      const name = app[key];
      if (name === undefined || (reading.env[name] ?? "") !== "") continue;
      reading.missing.push(read.yaml.problem(["oauthApps", id, key], `Missing ${name}`));
    }
  }
  return { ...read.value, signIn: readSignIn(reading, read.yaml, read.value.signIn) };
}

/** Puts certificates in place of the files that hold them, and names the variables that are missing. */
function readSignIn(reading: Reading, yaml: YamlFile, providers: JackfieldFile["signIn"]): JackfieldFile["signIn"] {
  return providers.map((provider, index) => {
    const at = ["signIn", String(index)];
    for (const [key, value] of Object.entries(provider)) {
      const names = key === "clientSecret" || key === "signingKey" ? [String(value)] : envReferences(String(value));
      for (const name of names) {
        if ((reading.env[name] ?? "") === "") reading.missing.push(yaml.problem([...at, key], `Missing ${name}`));
      }
    }
    if (provider.type !== "saml") return provider;
    const certificate = [provider.certificate].flat().map((text) => {
      if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
      const path = resolve(reading.root, text);
      const inside = !relative(reading.root, path).startsWith("..");
      if (inside && isFile(path)) return readText(path);
      reading.errors.push(yaml.problem([...at, "certificate"], `${text} is no file of the configuration`));
      return "";
    });
    return { ...provider, certificate };
  });
}

export function readEnvironmentFile(
  reading: Reading,
  dir: string,
): { declared: boolean; label?: string; parent?: string; forbid: PolicyEntry[] } {
  const read = readNamed(reading, dir, "environment", environmentFile);
  if (read === undefined) return { declared: false, forbid: [] };
  const { label, parent, tools } = read.value.environment;
  return {
    declared: true,
    ...(label === undefined ? {} : { label }),
    ...(parent === undefined ? {} : { parent }),
    forbid: tools.forbid.map(policyEntryOf),
  };
}

export function readConnections(reading: Reading, dir: string): LoadedConnection[] {
  const connections: LoadedConnection[] = [];
  for (const { slug, file, path } of slugFilesIn(reading, join(dir, "connections"))) {
    const read = readFile(reading, file, path, connectionFile);
    if (read === undefined) continue;
    const { connection } = read.value;
    const before = reading.errors.length;
    for (const finding of findSecrets(connection)) {
      reading.errors.push(read.yaml.problem(finding.path, finding.message));
    }
    if (connection.type === "mcp" && connection.command !== undefined && reading.jackfield.stdio !== "allow") {
      const message = "commands are started only where jackfield.yml says stdio: allow";
      reading.errors.push(read.yaml.problem(["connection", "command"], message));
    }
    const { auth } = connection;
    for (const { path, message } of pieceProblems(connection)) {
      reading.errors.push(read.yaml.problem(["connection", ...path], message));
    }
    if (auth?.method === "oauth" && auth.app !== undefined && !Object.hasOwn(reading.jackfield.oauthApps, auth.app)) {
      const message = `there is no OAuth app ${auth.app} under oauthApps of jackfield.yml`;
      reading.errors.push(read.yaml.problem(["connection", "auth", "app"], message));
    }
    const baseDir = dirname(dirname(path));
    if (connection.type === "openapi" && specUrl(connection.spec) === undefined) {
      const spec = specFile(connection.spec, baseDir);
      const inside = !relative(reading.root, spec).startsWith("..");
      const message = inside ? "there is no such file" : "must be an https URL, or a file inside the configuration";
      if (!inside || !isFile(spec)) reading.errors.push(read.yaml.problem(["connection", "spec"], message));
    }
    if (reading.errors.length > before) continue;
    reportMissing(reading, read.yaml, connection);
    noteConnection(reading, read.yaml, connection);
    connections.push({ slug, source: file, config: connectionConfig(slug, connection, baseDir) });
  }
  return connections;
}

export function readEndpoints(reading: Reading, dir: string): LoadedEndpoint[] {
  const endpoints: LoadedEndpoint[] = [];
  for (const { slug, file, path } of slugFilesIn(reading, join(dir, "endpoints"))) {
    const read = readFile(reading, file, path, endpointFile);
    if (read === undefined) continue;
    const { endpoint } = read.value;
    if (endpoint.rateLimit !== undefined) {
      reading.notes.push(read.yaml.problem(["endpoint", "rateLimit"], "is accepted and not enforced yet"));
    }
    endpoints.push({ slug, source: file, config: endpointConfig(slug, endpoint) });
  }
  return endpoints;
}

/** Ways to authenticate that only pieces have, and those that they cannot have. */
function pieceProblems({ type, auth }: ConnectionFile): { path: string[]; message: string }[] {
  const at = ["auth", "method"];
  if (type !== "ap") return auth?.method === "fields" ? [{ path: at, message: "fields are of pieces (type: ap)" }] : [];
  switch (auth?.method) {
    case "oauth":
      return auth.app === undefined ? [{ path: ["auth"], message: "a piece is signed in to with an app" }] : [];
    case "client_credentials":
    case "api_key":
    case "several":
      return [{ path: at, message: "must be none, oauth, bearer, basic or fields for a piece" }];
    default:
      return [];
  }
}

/** `Missing NAME` for each environment variable that the connection names and that is not set. */
function reportMissing(reading: Reading, yaml: YamlFile, connection: ConnectionFile): void {
  const named: { path: string[]; value: string }[] = [];
  for (const [name, value] of Object.entries(connection.auth ?? {})) {
    if (typeof value === "string") named.push({ path: ["connection", "auth", name], value });
  }
  if (connection.auth?.method === "several") {
    for (const [name, { secret }] of Object.entries(connection.auth.schemes)) {
      if (secret !== undefined) named.push({ path: ["connection", "auth", "schemes", name, "secret"], value: secret });
    }
  }
  if (connection.auth?.method === "fields") {
    for (const [name, value] of Object.entries(connection.auth.fields ?? {})) {
      named.push({ path: ["connection", "auth", "fields", name], value });
    }
  }
  if (connection.type === "mcp") {
    for (const [name, value] of Object.entries(connection.env ?? {})) {
      named.push({ path: ["connection", "env", name], value });
    }
  }
  for (const { path, value } of named) {
    for (const name of envReferences(value)) {
      const known = ALWAYS_SET.includes(name) || (reading.env[name] ?? "") !== "";
      if (!known) reading.missing.push(yaml.problem(path, `Missing ${name}`));
    }
  }
}

function noteConnection(reading: Reading, yaml: YamlFile, connection: ConnectionFile): void {
  const note = (path: string[], message: string) => reading.notes.push(yaml.problem(["connection", ...path], message));
  if (connection.type === "a2a" && typeof connection.access === "object") {
    const { read, write } = connection.access;
    const named = compileNames([...(read?.tools ?? []), ...(write?.tools ?? [])]);
    if (!named("task_result")) note(["access"], "does not name task_result, so nobody can follow a long task");
  }
  if (connection.access === undefined) note([], "has no access, so none of its tools is served");
  if (connection.access === "suggested") {
    note(["access"], "suggested trusts what the service says about its own tools at first import");
  }
  const method = connection.auth?.method;
  if (connection.credential !== undefined && (method === undefined || method === "none" || secretOf(connection.auth))) {
    note(["credential"], "is not used: the connection takes no credential, or takes it from auth.secret");
  }
  if (connection.type === "mcp") {
    for (const [name, value] of Object.entries(connection.headers ?? {})) {
      if (value.includes("${{")) note(["headers", name], "session variables in headers are accepted and not used yet");
    }
    if (connection.url?.startsWith("http:")) note(["url"], "plain http works for addresses that the operator allows");
  }
}

function secretOf(auth: ConnectionFile["auth"]): string | undefined {
  return auth !== undefined && "secret" in auth ? auth.secret : undefined;
}

/** A file with a fixed name; undefined where there is none, or where it is wrong. */
function readNamed<Schema extends z.ZodType>(reading: Reading, dir: string, name: string, schema: Schema) {
  const path = [".yml", ".yaml"].map((extension) => join(dir, name + extension)).find(isFile);
  return path === undefined ? undefined : readFile(reading, relative(reading.root, path), path, schema);
}

function readFile<Schema extends z.ZodType>(
  reading: Reading,
  file: string,
  path: string,
  schema: Schema,
): { yaml: YamlFile; value: z.output<Schema> } | undefined {
  let text: string;
  try {
    text = readText(path);
  } catch (error) {
    reading.errors.push({ file, message: `cannot be read: ${error instanceof Error ? error.message : String(error)}` });
    return undefined;
  }
  const { yaml, problems } = parseYaml(file, text);
  reading.errors.push(...problems);
  if (yaml === undefined) return undefined;
  const checked = checkYaml(yaml, schema);
  reading.errors.push(...checked.problems);
  return checked.value === undefined ? undefined : { yaml, value: checked.value };
}
