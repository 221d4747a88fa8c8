/**
 * The keys of the configuration files (design, section 8). Every object is strict: a key that is not here is an error.
 *
 * The schemas take the words of the files; `from-file.ts` turns them into what is stored and served.
 */
import { z } from "zod";
import { compileNames, GlobError, parseGlob } from "../access/glob.ts";
import { isVersion } from "../pieces/names.ts";
import { httpEndpoints } from "./api-schema.ts";
import { assets } from "./asset-schema.ts";
import { authorizationServer, tokenRules } from "./authorization-server-schema.ts";
import { headerProblems, keyHeaderProblem } from "./header-rules.ts";
import { oauthApps, scopeList } from "./oauth-app-schema.ts";
import { activepieces } from "./pieces-schema.ts";
import { signInProviders } from "./sign-in-schema.ts";

/** The error of a pattern in words, or undefined where it can be read. */
function patternProblem(pattern: string, read: (pattern: string) => unknown): string | undefined {
  try {
    read(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof GlobError) return error.message;
    throw error;
  }
}

const text = z.string().min(1).max(2000);

/** A pattern over names: no variables. */
const namePattern = text.superRefine((pattern, context) => {
  const problem = patternProblem(pattern, (value) => compileNames([value]));
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

/** A pattern over a value: session variables allowed. */
const valuePattern = z.string().superRefine((pattern, context) => {
  const problem = patternProblem(pattern, parseGlob);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

const names = z.array(namePattern).max(1000);
const version = z.literal(1);

const guard = z.union([
  z.array(valuePattern).min(1),
  z.strictObject({ match: z.array(valuePattern).min(1), optional: z.boolean().default(false) }),
]);
const guards = z.record(z.string().min(1), guard);

export const policyEntry = z.union([
  namePattern,
  z.strictObject({
    tool: namePattern,
    connection: text.optional(),
    args: guards.optional(),
    paths: guards.optional(),
    onlyArgs: z.boolean().optional(),
  }),
]);

const access = z.union([
  z.literal("suggested"),
  z.strictObject({
    read: z.strictObject({ tools: names, approval: z.literal("always").optional() }).optional(),
    write: z.strictObject({ tools: names, approval: z.literal("always").optional() }).optional(),
    approval: z.record(namePattern, z.enum(["always", "never"])).optional(),
    preset: z.enum(["read-only", "approval-required"]).optional(),
    expose: names.optional(),
    disable: names.optional(),
    resources: names.optional(),
    prompts: names.optional(),
  }),
]);

/** `${env:NAME}` and nothing else: a secret is named, never written. */
const secretName = z
  .string()
  .regex(
    /^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$/,
    `must name an environment variable, as \${env:NAME}: never a secret itself`,
  );

const keyName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be a header or parameter name");
const bearer = z.strictObject({ method: z.literal("bearer"), secret: secretName.optional() });
const basic = z.strictObject({
  method: z.literal("basic"),
  // RFC 7617, 2: a colon would end the name.
  username: z
    .string()
    .regex(/^[^:\p{Cc}]{1,255}$/u, "must be a user name without a colon")
    .optional(),
  secret: secretName.optional(),
});
const apiKey = z.strictObject({
  method: z.literal("api_key"),
  in: z.enum(["header", "query", "cookie"]).default("header"),
  name: keyName,
  secret: secretName.optional(),
});

/** What may be said of a key's header beyond its being a name. */
function checkKey(value: { in: string; name: string }, path: string[], context: z.RefinementCtx): void {
  const message = value.in === "header" ? keyHeaderProblem(value.name) : undefined;
  if (message !== undefined) context.addIssue({ code: "custom", path: [...path, "name"], message });
}

/** Values of a piece's own form: those that are no secret as they are, a secret by the variable that holds it. */
const fields = z.record(
  z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, "must be the name of a field"),
  z.union([z.string().min(1).max(8000), z.number(), z.boolean()]).transform(String),
);

const auth = z
  .discriminatedUnion("method", [
    z.strictObject({ method: z.literal("none") }),
    z.strictObject({
      method: z.literal("oauth"),
      scopes: scopeList.optional(),
      pairing: z.boolean().optional(),
      app: text.optional(),
      values: z.record(text, text).optional(),
    }),
    z.strictObject({
      method: z.literal("client_credentials"),
      scopes: scopeList.optional(),
      clientId: text.optional(),
      secret: secretName.optional(),
      privateKey: secretName.optional(),
      algorithm: z.enum(["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"]).optional(),
      authentication: z.enum(["header", "body"]).optional(),
    }),
    bearer,
    basic,
    apiKey,
    z.strictObject({ method: z.literal("fields"), fields: fields.optional(), secret: secretName.optional() }),
    z.strictObject({
      method: z.literal("several"),
      schemes: z.record(text, z.discriminatedUnion("method", [bearer, basic, apiKey])),
    }),
  ])
  .superRefine((value, context) => {
    if (value.method === "oauth" && value.values !== undefined && value.app === undefined) {
      context.addIssue({ code: "custom", path: ["values"], message: "goes with app only" });
    }
    if (value.method === "client_credentials" && value.clientId === undefined && (value.secret ?? value.privateKey)) {
      context.addIssue({ code: "custom", path: ["clientId"], message: "is needed where the secret is named here" });
    }
    if (value.method === "api_key") checkKey(value, [], context);
    if (value.method !== "several") return;
    for (const [name, scheme] of Object.entries(value.schemes)) {
      if (scheme.method === "api_key") checkKey(scheme, ["schemes", name], context);
    }
  });

/** How calls that need an approval get it. */
const approvals = z.strictObject({
  decider: z.enum(["approver", "caller"]).default("approver"),
  selfApprove: z.boolean().default(false),
});

const common = {
  label: z.string().min(1).max(200).optional(),
  description: z.string().max(4000).default(""),
  aliases: z.array(z.string().min(1).max(100)).max(50).default([]),
  auth: auth.optional(),
  credential: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,63}$/, "must be the name of a credential: lower-case letters, digits and -")
    .optional(),
  subject: z.enum(["user", "workspace", "installation", "environment"]).default("workspace"),
  required: z.boolean().default(false),
  asks: z.enum(["none", "elicitation", "all"]).default("none"),
  review: z.enum(["patterns", "strict"]).default("patterns"),
  access: access.optional(),
  approvals: approvals.optional(),
};

const httpUrl = z.string().refine((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && (url.protocol === "https:" || url.protocol === "http:") && url.hash === "";
}, "must be an http or https URL without a fragment");

const mcp = z
  .strictObject({
    type: z.literal("mcp"),
    ...common,
    url: httpUrl.optional(),
    headers: z.record(z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "is not a header name"), z.string()).optional(),
    command: z.array(z.string().min(1)).min(1).optional(),
    cwd: text.optional(),
    env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not a variable name"), z.string()).optional(),
  })
  .superRefine((value, context) => {
    const wrong = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    for (const { name, message } of headerProblems(value.headers ?? {})) wrong(["headers", name], message);
    if ((value.url === undefined) === (value.command === undefined)) {
      wrong([value.url === undefined ? "type" : "command"], "an mcp connection has either url or command");
    }
    if (value.command === undefined && value.cwd !== undefined) wrong(["cwd"], "goes with command only");
    if (value.command === undefined && value.env !== undefined) wrong(["env"], "goes with command only");
    if (value.url === undefined && value.headers !== undefined) wrong(["headers"], "goes with url only");
    if (value.url === undefined && value.auth !== undefined && value.auth.method !== "none") {
      wrong(["auth"], "goes with url only; give a command its secrets through env");
    }
  });

const connection = z.discriminatedUnion("type", [
  mcp,
  z.strictObject({
    type: z.literal("openapi"),
    ...common,
    spec: text,
    baseUrl: httpUrl.optional(),
    variables: z.record(text, z.string()).optional(),
    overrides: z.strictObject({ read: names.optional(), write: names.optional() }).optional(),
    deprecated: z.enum(["hide", "show"]).optional(),
    deepLists: z.enum(["repeat", "brackets", "indexed"]).optional(),
    idempotencyHeader: keyName.optional(),
  }),
  z.strictObject({ type: z.literal("http"), ...common, baseUrl: httpUrl, endpoints: httpEndpoints }),
  z.strictObject({
    type: z.literal("a2a"),
    ...common,
    card: httpUrl,
    url: httpUrl.optional(),
    transport: z.enum(["jsonrpc", "rest"]).optional(),
    wait: z.number().int().min(1).max(600).optional(),
    push: z.enum(["on", "off"]).optional(),
    assertion: z.enum(["on", "off"]).optional(),
  }),
  z.strictObject({
    type: z.literal("ap"),
    ...common,
    piece: text,
    version: z.string().refine(isVersion, "must be one exact version such as 0.17.9").optional(),
    expose: names.optional(),
    audience: z
      .array(z.enum(["ai", "both", "human"]))
      .min(1)
      .optional(),
  }),
]);

export const connectionFile = z.strictObject({ version, connection });

const strings = z.array(text);
const endpoint = z
  .strictObject({
    label: z.string().min(1).max(200).optional(),
    principals: z
      .strictObject({
        roles: strings.default([]),
        groups: strings.default([]),
        people: strings.default([]),
        agents: strings.default([]),
      })
      .optional(),
    discovery: z.enum(["search", "listed", "transparent"]).default("search"),
    connection: text.optional(),
    activation: z.enum(["on", "off"]).default("on"),
    outputSchema: z.enum(["search", "list"]).default("search"),
    assets: z.enum(["read", "pass"]).default("read"),
    audience: z.enum(["private", "shared"]).default("private"),
    signIn: z.enum(["on", "off"]).default("on"),
    pin: names.default([]),
    rateLimit: z
      .strictObject({ calls: z.number().int().positive(), per: z.enum(["second", "minute", "hour", "day"]) })
      .optional(),
    variables: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, "is not a variable name"), z.string())
      .default({}),
    tools: z
      .strictObject({ allow: z.array(policyEntry).optional(), forbid: z.array(policyEntry).default([]) })
      .default({ forbid: [] }),
  })
  .superRefine((value, context) => {
    const transparent = value.discovery === "transparent";
    if (transparent && value.connection === undefined) {
      context.addIssue({ code: "custom", path: ["discovery"], message: "transparent needs a connection" });
    }
    if (!transparent && value.connection !== undefined) {
      context.addIssue({ code: "custom", path: ["connection"], message: "goes with discovery: transparent only" });
    }
  });

export const endpointFile = z.strictObject({ version, endpoint });

export const environmentFile = z.strictObject({
  version,
  environment: z.strictObject({
    label: z.string().min(1).max(200).optional(),
    parent: text.optional(),
    tools: z.strictObject({ forbid: z.array(policyEntry).default([]) }).default({ forbid: [] }),
  }),
});

const vault = z.discriminatedUnion("store", [
  z.strictObject({ store: z.literal("sql") }),
  z.strictObject({
    store: z.literal("aws"),
    region: z
      .string()
      .regex(/^[a-z0-9-]+$/, "must be a region such as eu-central-1")
      .optional(),
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9/_+=.@-]{1,200}$/, "must be the beginning of a secret's name")
      .default("jackfield/"),
    endpoint: httpUrl.optional(),
  }),
]);

/** What may be a client id (draft-ietf-oauth-client-id-metadata-document, 3). */
const isDocumentUrl = (url: URL): boolean =>
  url.protocol === "https:" && url.pathname !== "/" && url.username === "" && url.password === "" && url.hash === "";

const audit = z.strictObject({
  retention: z
    .string()
    .regex(/^(?:[1-9]\d{0,4}[dwy]|never)$/, "must be a number of days, weeks or years such as 365d, or never")
    .default("365d"),
});

/** Without a store, files are in the data directory. */
function inDirectory(given: unknown): unknown {
  return typeof given === "object" && given !== null
    ? { store: "directory", ...given }
    : (given ?? { store: "directory" });
}

/** What no connection can lift: calls that another person must approve, and how long an approval lives. */
const approvalFloor = z.strictObject({
  always: names.default([]),
  validFor: z
    .string()
    .regex(/^[1-9]\d{0,3}[mhd]$/, "must be a number of minutes, hours or days such as 24h")
    .default("24h"),
});

export const jackfieldFile = z.strictObject({
  version,
  approvals: approvalFloor.prefault({}),
  audit: audit.prefault({}),
  oauth: authorizationServer.prefault({}),
  tokens: tokenRules.prefault({}),
  vault: vault.default({ store: "sql" }),
  assets: z.preprocess(inDirectory, assets),
  stdio: z.enum(["allow", "deny"]).default("deny"),
  /** The pieces that may be connected. */
  activepieces: activepieces.optional(),
  oauthApps: oauthApps.default({}),
  /** How we become a client where the operator was not given one. */
  signInOrder: z
    .array(z.enum(["cimd", "dcr"]))
    .min(1)
    .max(2)
    .default(["cimd", "dcr"]),
  /** A client id metadata document that the operator hosts elsewhere, in place of our own. */
  clientMetadataUrl: z
    .string()
    .refine((value) => URL.canParse(value) && isDocumentUrl(new URL(value)), "must be an https URL with a path")
    .optional(),
  signIn: signInProviders.default([]),
});

export type ConnectionFile = z.infer<typeof connectionFile>["connection"];
export type EndpointFile = z.infer<typeof endpointFile>["endpoint"];
export type EnvironmentFile = z.infer<typeof environmentFile>["environment"];
export type JackfieldFile = z.infer<typeof jackfieldFile>;
export type PolicyEntryFile = z.infer<typeof policyEntry>;
