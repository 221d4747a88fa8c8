/** Checked words of a file -> what is stored and served, with every default filled in. */
import { resolve } from "node:path";
import type { JsonObject } from "../../adapters/contract.ts";
import { fieldName } from "../../adapters/pieces/auth.ts";
import { OPTIONS_TOOL } from "../../adapters/pieces/schema.ts";
import type { AccessRules } from "../access/classes.ts";
import type { PolicyEntry } from "../access/policy.ts";
import { envReferences } from "./file-secrets.ts";
import { scopesFor } from "./oauth-app-schema.ts";
import type { ConnectionFile, EndpointFile, PolicyEntryFile } from "./schema.ts";
import type { AuthConfig, ConnectionConfig, EndpointConfig, SchemeAuth } from "./types.ts";

/**
 * @param slug the file's name; the label where the file gives none
 * @param baseDir absolute directory that a relative `cwd` starts from, and the default one of a command
 */
export function connectionConfig(slug: string, file: ConnectionFile, baseDir: string): ConnectionConfig {
  return {
    type: file.type,
    label: file.label ?? slug,
    description: file.description,
    aliases: file.aliases,
    subject: file.subject,
    required: file.required,
    asks: file.asks,
    review: file.review,
    ...(file.credential === undefined ? {} : { credential: file.credential }),
    auth: authConfig(file),
    access: file.type === "ap" ? withOptionsTool(accessRules(file.access, file.expose)) : accessRules(file.access),
    ...(file.approvals === undefined ? {} : { approvals: file.approvals }),
    adapter: adapterKeys(file, baseDir),
  };
}

function authConfig({ auth, access }: Pick<ConnectionFile, "auth" | "access">): AuthConfig {
  if (auth === undefined) return { method: "none" };
  const config: AuthConfig = { method: auth.method };
  if ("scopes" in auth && auth.scopes !== undefined) {
    config.scopes = scopesFor(auth.scopes, typeof access === "object" ? access.preset : undefined);
  }
  if (auth.method === "oauth") {
    if (auth.pairing === true) config.pairing = true;
    if (auth.app !== undefined) config.app = auth.app;
    if (auth.values !== undefined) config.values = auth.values;
  }
  if (auth.method === "client_credentials") {
    const { clientId, privateKey, algorithm, authentication } = auth;
    const [clientIdEnv] = envReferences(clientId ?? "");
    if (clientIdEnv !== undefined) config.clientIdEnv = clientIdEnv;
    else if (clientId !== undefined) config.clientId = clientId;
    const [privateKeyEnv] = envReferences(privateKey ?? "");
    if (privateKeyEnv !== undefined) config.privateKeyEnv = privateKeyEnv;
    if (algorithm !== undefined) config.algorithm = algorithm;
    if (authentication !== undefined) config.authentication = authentication;
  }
  if (auth.method === "fields" && auth.fields !== undefined) {
    config.fields = Object.fromEntries(Object.entries(auth.fields).map(([name, value]) => [fieldName(name), value]));
  }
  if (auth.method === "bearer" || auth.method === "basic" || auth.method === "api_key") return schemeAuth(auth);
  if (auth.method === "several") {
    const schemes = Object.entries(auth.schemes).map(([name, scheme]) => [name, schemeAuth(scheme)]);
    return { ...config, schemes: Object.fromEntries(schemes) };
  }
  const [secretEnv] = "secret" in auth && auth.secret !== undefined ? envReferences(auth.secret) : [];
  if (secretEnv !== undefined) config.secretEnv = secretEnv;
  return config;
}

type SchemeFile = Extract<NonNullable<ConnectionFile["auth"]>, { method: SchemeAuth["method"] }>;

function schemeAuth(scheme: SchemeFile): SchemeAuth {
  const [secretEnv] = envReferences(scheme.secret ?? "");
  return {
    method: scheme.method,
    ...(scheme.method === "api_key" ? { in: scheme.in, name: scheme.name } : {}),
    ...(scheme.method === "basic" && scheme.username !== undefined ? { username: scheme.username } : {}),
    ...(secretEnv === undefined ? {} : { secretEnv }),
  };
}

/** A document's URL; undefined for a file, which is beside the one that names it. */
export function specUrl(spec: string): string | undefined {
  return /^https?:\/\//i.test(spec) && URL.canParse(spec) ? spec : undefined;
}

/** Absolute path of a document that is a file. @param baseDir as for `connectionConfig` */
export function specFile(spec: string, baseDir: string): string {
  return resolve(baseDir, "connections", spec);
}

/** Without `access` nothing has a class, so nothing is served: what nobody reviewed does not exist. */
function accessRules(access: ConnectionFile["access"], expose?: string[] | undefined): AccessRules {
  const rules: AccessRules = {
    read: [],
    write: [],
    approval: { tools: {} },
    disable: [],
    resources: [],
    prompts: [],
    suggested: access === "suggested",
  };
  if (expose !== undefined) rules.expose = expose;
  if (access === undefined) return rules;
  if (access === "suggested") return { ...rules, resources: ["**"], prompts: ["**"] };
  rules.read = access.read?.tools ?? [];
  rules.write = access.write?.tools ?? [];
  if (access.read?.approval !== undefined) rules.approval.read = access.read.approval;
  if (access.write?.approval !== undefined) rules.approval.write = access.write.approval;
  rules.approval.tools = access.approval ?? {};
  if (access.preset !== undefined) rules.preset = access.preset;
  if (access.expose !== undefined) rules.expose = access.expose;
  rules.disable = access.disable ?? [];
  rules.resources = access.resources ?? [];
  rules.prompts = access.prompts ?? [];
  return rules;
}

/** What looks up choices belongs to every action of a piece that has some: it reads, and no list has to name it. */
function withOptionsTool(rules: AccessRules): AccessRules {
  const named = rules.read.length + rules.write.length > 0;
  return {
    ...rules,
    ...(named ? { read: [...rules.read, OPTIONS_TOOL] } : {}),
    ...(rules.expose === undefined ? {} : { expose: [...rules.expose, OPTIONS_TOOL] }),
  };
}

function adapterKeys(file: ConnectionFile, baseDir: string): JsonObject {
  switch (file.type) {
    case "mcp":
      if (file.command === undefined) return defined({ url: file.url, headers: file.headers });
      return defined({ command: file.command, cwd: resolve(baseDir, file.cwd ?? "."), env: file.env });
    case "openapi":
      return defined({
        spec: specUrl(file.spec),
        ...(specUrl(file.spec) === undefined ? { specFile: specFile(file.spec, baseDir) } : {}),
        baseUrl: file.baseUrl,
        variables: file.variables,
        overrides: file.overrides,
        deprecated: file.deprecated,
        deepLists: file.deepLists,
        idempotencyHeader: file.idempotencyHeader,
      });
    case "http":
      return { baseUrl: file.baseUrl, endpoints: file.endpoints };
    case "a2a":
      return defined({
        card: file.card,
        url: file.url,
        transport: file.transport,
        wait: file.wait,
        push: file.push,
        assertion: file.assertion,
      });
    case "ap":
      return defined({
        piece: file.piece,
        version: file.version,
        expose: file.expose ?? (typeof file.access === "object" ? file.access.expose : undefined),
        audience: file.audience,
      });
  }
}

/** @param slug the file's name; the label where the file gives none */
export function endpointConfig(slug: string, file: EndpointFile): EndpointConfig {
  const config: EndpointConfig = {
    label: file.label ?? slug,
    discovery: file.discovery,
    activation: file.activation,
    outputSchema: file.outputSchema,
    assets: file.assets,
    audience: file.audience,
    signIn: file.signIn,
    pin: file.pin,
    variables: file.variables,
    tools: { forbid: file.tools.forbid.map(policyEntryOf) },
  };
  if (file.principals !== undefined) config.principals = file.principals;
  if (file.connection !== undefined) config.connection = file.connection;
  if (file.rateLimit !== undefined) config.rateLimit = file.rateLimit;
  if (file.tools.allow !== undefined) config.tools.allow = file.tools.allow.map(policyEntryOf);
  return config;
}

/** An entry without the keys that the file left out. */
export function policyEntryOf(entry: PolicyEntryFile): PolicyEntry {
  if (typeof entry === "string") return entry;
  const { tool, connection, args, paths, onlyArgs } = entry;
  return {
    tool,
    ...(connection === undefined ? {} : { connection }),
    ...(args === undefined ? {} : { args }),
    ...(paths === undefined ? {} : { paths }),
    ...(onlyArgs === undefined ? {} : { onlyArgs }),
  };
}

function defined(keys: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined));
}
