/**
 * What is served: the snapshot that the registry keeps in memory and every request reads.
 *
 * Everything here is plain and frozen in spirit: a change of the configuration or of a catalogue makes a new object,
 * so a request that holds one sees one consistent state to its end.
 */
import type { CatalogueItem, Introduction, JsonObject, ToolDefinition } from "../../adapters/contract.ts";
import type { AccessRules } from "../access/classes.ts";
import type { PolicyEntry } from "../access/policy.ts";

/** Whose credential a connection uses (design, section 2). */
export type Subject = "user" | "workspace" | "installation" | "environment";

/** What an upstream may ask the caller in mid-call. */
export type Asks = "none" | "elicitation" | "all";

export type ConnectionType = "mcp" | "openapi" | "http" | "a2a" | "ap";

/** One secret and where it goes. */
export interface SchemeAuth {
  method: "bearer" | "basic" | "api_key";
  in?: "header" | "query" | "cookie";
  name?: string;
  username?: string;
  secretEnv?: string;
}

/** How a connection authenticates; the secret itself is never part of it, at most the name of what holds it. */
export interface AuthConfig {
  method: "none" | "oauth" | "client_credentials" | "several" | "fields" | SchemeAuth["method"];
  scopes?: string[];
  /** api_key only. */
  in?: "header" | "query" | "cookie";
  name?: string;
  /** basic only; absent: the secret is `user:password`. */
  username?: string;
  /** several only: by the name that the document gives to the security scheme. */
  schemes?: Record<string, SchemeAuth>;
  /** fields only: by the field's name; `${env:NAME}` stays as it is written and is resolved at each use. */
  fields?: Record<string, string>;
  /** Name of the environment variable that holds the secret (`secret: ${env:NAME}`). */
  secretEnv?: string;
  /** oauth only: its account may also come from a pairing packet. */
  pairing?: true;
  /** oauth only: the provider OAuth app of `jackfield.yml`, and what its URLs have placeholders for. */
  app?: string;
  values?: Record<string, string>;
  /** client_credentials only: the client id itself, or the variable that holds it; that of the private key. */
  clientId?: string;
  clientIdEnv?: string;
  privateKeyEnv?: string;
  /** Of the assertions that the private key signs (JWS). */
  algorithm?: string;
  /** Where id and secret go; absent: as the authorization server likes it. */
  authentication?: "header" | "body";
}

/** Who approves calls of a connection that need it; absent: an approver, who is not the caller. */
export interface ApprovalRules {
  /** `caller`: a signed-in person decides about their own calls. */
  decider: "approver" | "caller";
  /** Whether somebody with the right may approve a call of their own. */
  selfApprove: boolean;
}

/** One connection of the configuration, checked and with every default filled in. JSON, so it is stored as it is. */
export interface ConnectionConfig {
  type: ConnectionType;
  label: string;
  description: string;
  aliases: string[];
  subject: Subject;
  required: boolean;
  asks: Asks;
  review: "patterns" | "strict";
  /** Name of the organization's credential, where it is not the connection's own. */
  credential?: string;
  auth: AuthConfig;
  access: AccessRules;
  approvals?: ApprovalRules;
  /**
   * The adapter's own keys (`url`, `headers`, `command`, `cwd`, `env`, ...). A value `${env:NAME}` of a stdio `env`
   * stays as it is written and is resolved when the session opens, so that no secret reaches the store.
   */
  adapter: JsonObject;
}

export interface RateLimit {
  calls: number;
  per: "second" | "minute" | "hour" | "day";
}

/** Who may use an endpoint; undefined: admins and the tokens made for it. */
export interface Principals {
  roles: string[];
  groups: string[];
  people: string[];
  agents: string[];
}

/** One endpoint of the configuration, with every default filled in. */
export interface EndpointConfig {
  label: string;
  principals?: Principals;
  discovery: "search" | "listed" | "transparent";
  /** The connection that a transparent endpoint shows. */
  connection?: string;
  activation: "on" | "off";
  outputSchema: "search" | "list";
  /** Whether callers may read kept files here, or only give them on by their handles. */
  assets: "read" | "pass";
  audience: "private" | "shared";
  signIn: "on" | "off";
  pin: string[];
  rateLimit?: RateLimit;
  /** Session variables that the endpoint itself gives to guards. */
  variables: Record<string, string>;
  tools: {
    /** Absent: every reviewed tool of the environment is granted. Present: closed by default. */
    allow?: PolicyEntry[];
    forbid: PolicyEntry[];
  };
}

export interface ServedTool {
  id: string;
  /** Public name, `<connection>__<action>`, at most 48 characters. */
  name: string;
  /** The upstream's own name. */
  action: string;
  /** The reviewed definition, cleaned of invisible characters. */
  definition: ToolDefinition;
  class: "read" | "write";
  /** Only `approved` may be listed, found and called; `changed` is here so that the refusal can say why. */
  state: "approved" | "changed" | "pending";
  approval: "none" | "required";
  /** SHA-256 (hex) of the reviewed definition; the key of everything compiled from it. */
  hash: string;
  connection: ServedConnection;
}

export type ConnectionServingState = "ok" | "loading" | "failed" | "needsAuthorization" | "disabled";

export interface ServedConnection {
  id: string;
  slug: string;
  type: ConnectionType;
  label: string;
  description: string;
  aliases: string[];
  /** The adapter's own keys. */
  config: JsonObject;
  auth: AuthConfig;
  credential?: string;
  /** Of the stored credential that it uses; absent where there is none. Changes with every value. */
  credentialRevision?: string;
  /** The environment that owns it (an ancestor's, where it is inherited). */
  environmentId: string;
  organizationId: string;
  subject: Subject;
  required: boolean;
  asks: Asks;
  /** `patterns`: a new tool that the patterns name is approved; `strict`: a person accepts every one. */
  review: "patterns" | "strict";
  access: AccessRules;
  approvals?: ApprovalRules;
  /** Compiled `access.resources` and `access.prompts`. */
  admits: { resource(uri: string): boolean; prompt(name: string): boolean };
  /** Approved and changed tools that have a class, in upstream order; a pending one exists for its reviewer only. */
  tools: ServedTool[];
  /** Prompts, resources and templates that `access` admits, in upstream order. */
  prompts: CatalogueItem[];
  resources: CatalogueItem[];
  templates: CatalogueItem[];
  /** Public prompt name (`<connection>__<prompt>`) -> the upstream's own. */
  promptNames: ReadonlyMap<string, string>;
  introduction?: Introduction;
  state: ConnectionServingState;
  loadError?: { code: string; message: string };
  /** Changes whenever anything above changes. */
  revision: string;
}

export interface ServedEndpoint {
  id: string;
  slug: string;
  label: string;
  organizationId: string;
  organizationSlug: string;
  environmentId: string;
  config: EndpointConfig;
  /** Served at `/mcp` (of its organization) too. */
  isDefault: boolean;
}

export interface ServedEnvironment {
  id: string;
  slug: string;
  organizationId: string;
  organizationSlug: string;
  versionId: string;
  /** Changes whenever anything served changes. */
  revision: string;
  /** Sorted by slug: its own and those inherited, nearest first where slugs meet. */
  connections: ServedConnection[];
  endpoints: ServedEndpoint[];
  /** Its own and every ancestor's. */
  forbid: PolicyEntry[];
}
