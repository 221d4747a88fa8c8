/**
 * What an adapter is: the code that speaks one protocol upstream.
 *
 * An adapter imports nothing from `server/`; everything it needs is handed over through `AdapterContext` and
 * `CallContext`. One suite (`test/contract/adapter.ts`) runs against every implementation.
 */

import type { PieceHost } from "./pieces/host.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: unknown };

/** A tool as its upstream describes it; every field the upstream sent is kept. */
export interface ToolDefinition extends JsonObject {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations?: JsonObject;
}

/** A resource, resource template or prompt as its upstream describes it. */
export type CatalogueItem = JsonObject;

export interface Log {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What an adapter learned about its upstream and wants to find again after a restart (not a secret). */
export type AdapterMemory = { [key: string]: Json };

/** One secret and where it goes. */
export type SingleCredential =
  /**
   * `within`: the token goes to this URL and below only; absent: to the connection's origin. `data`: what else the
   * authorization server said when it gave the token, without the tokens that stay here.
   */
  | { kind: "bearer"; token: string; within?: string; data?: JsonObject }
  | { kind: "basic"; username: string; password: string }
  | { kind: "header" | "query" | "cookie"; name: string; value: string };

/** What a connection authenticates with; `several` holds one for each security scheme of its document, by name. */
export type Credential =
  | SingleCredential
  | { kind: "several"; schemes: Readonly<Record<string, SingleCredential>> }
  /** Named values that no scheme of HTTP places: a piece's own form. */
  | { kind: "fields"; values: Readonly<Record<string, string>> };

/** What an upstream said to a credential. */
export interface Refusal {
  readonly credential: Credential | undefined;
  /** HTTP status: 401 or 403. */
  readonly status: number;
  /** The `WWW-Authenticate` header, where there was one. */
  readonly challenge?: string;
}

export interface AdapterContext {
  readonly connection: { readonly id: string; readonly slug: string };
  /** The connection's configuration, already validated against the adapter's `configSchema`. */
  readonly config: JsonObject;
  /**
   * Opens the credential at the moment of use; undefined where the connection has none. Never cache the value.
   * After a refusal (401, or 403 `insufficient_scope`) it is asked again with what was refused: another credential
   * means that the request may be sent once more, because the upstream did not process it. May reject with an error
   * whose `code` is `authorization_required`.
   */
  readonly credential: (refused?: Refusal) => Promise<Credential | undefined>;
  /** The guarded way out (egress). Use no other. */
  readonly fetch: typeof globalThis.fetch;
  /**
   * The way to what the upstream names: keys, documents, files. As for strangers: public addresses only, small and
   * quick, unless the upstream itself stands in a range that the operator opened. Never send a credential there.
   */
  readonly namedFetch: typeof globalThis.fetch;
  /** The same for files, which may be larger and take longer. */
  readonly fileFetch: typeof globalThis.fetch;
  /**
   * As `fetch`, for large bodies: an answer's is a stream that is read as it comes and is bounded by nobody but the reader.
   * A request's body may be a stream with its `content-length`; no redirect is followed with one.
   */
  readonly fetchStream: typeof globalThis.fetch;
  /** Where pieces run, bound to this connection and whose credential it uses; absent where none can. */
  readonly pieces?: PieceHost;
  /** The class that the connection's reviewed patterns give an action; undefined: it does not exist for callers. */
  readonly classOf?: (action: string, annotations?: JsonObject) => "read" | "write" | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Aborts when the session must end at once. */
  readonly signal: AbortSignal;
  readonly memory: { read(): Promise<AdapterMemory | undefined>; write(memory: AdapterMemory): Promise<void> };
  /** How the proxy introduces itself upstream. */
  readonly identity: { readonly name: string; readonly version: string };
  /** Sent with every upstream HTTP request so that a loop through the proxy is seen. */
  readonly hop: { readonly header: string; readonly value: string };
}

/** A question of the upstream to the caller: elicitation, sampling or roots. */
export interface Question {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: JsonObject;
}

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** Who calls, as far as an upstream may know. */
export interface Caller {
  /**
   * Whoever may share upstream state: callers with the same key may use one upstream session, others never.
   * In a transparent endpoint's legacy session it is the session, else the principal.
   */
  readonly key: string;
  /** Client capabilities that may be shown upstream: the caller's own, cut down to what the connection `asks`. */
  readonly capabilities: JsonObject;
  /** Legacy log level of the caller's session, or the level this one request asked for. */
  readonly logLevel?: string;
}

/** A file that is kept for one principal in one environment until it expires. Its content never changes. */
export interface Asset {
  /** Opaque: `asset://` and random characters. */
  readonly handle: string;
  /** SHA-256 of the content in hexadecimal. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  /** Media type as its source called it; nobody looked into the content. */
  readonly type: string;
  /** File name without folders and control characters. */
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A file that was just kept, with the block that names it in a result. */
export interface KeptAsset extends Asset {
  readonly resourceLink: { type: "resource_link"; uri: string; name: string; mimeType: string; size: number };
}

/** A kept file whose digest and size were checked. */
export interface ReadableAsset extends Asset {
  /** The whole content; each call begins anew. Fails before its end where it is not what was kept. */
  stream(): ReadableStream<Uint8Array>;
}

/** The files of the caller. Errors carry a `code` that begins with `asset_`, and words for the caller. */
export interface Assets {
  /**
   * Keeps a file. Where a stream fails, so does this, and nothing is kept.
   * @param about what its source said of it: a name is cleaned, a type is taken as it is and never guessed
   * @throws `asset_too_large`, `asset_quota`, `asset_unavailable`
   */
  put(
    content: Uint8Array | ReadableStream<Uint8Array>,
    about: { name?: string | undefined; type?: string | undefined },
  ): Promise<KeptAsset>;
  /**
   * Opens a file by the handle that was given as an argument.
   * @throws `asset_not_found` also for one of another principal or environment, or past its time; `asset_damaged`
   *   where the content is not what was kept
   */
  read(handle: string): Promise<ReadableAsset>;
}

/** Whether a value of an argument is the handle of a kept file. */
export function isAssetHandle(value: unknown): value is `asset://${string}` {
  return typeof value === "string" && /^asset:\/\/[A-Za-z0-9_-]{24}$/.test(value);
}

/** What an upstream works on beyond one call, or a conversation with it, as its caller holds it. */
export interface KeptTask {
  /** What the caller is given: it says nothing about the upstream and works for this caller only. */
  readonly handle: string;
  readonly kind: "task" | "context";
  readonly state: AdapterMemory;
}

/**
 * The tasks that one caller has at one connection. They are in the store, sealed and bound to the principal: any
 * process finds them, after a restart too. One that nobody used for thirty days is forgotten.
 */
export interface TaskDesk {
  /**
   * Keeps a task, with this state in place of the one before.
   * @param task `identity`: its name upstream; the same one gets the same handle
   */
  keep(task: { kind: KeptTask["kind"]; identity: string; state: AdapterMemory }): Promise<KeptTask>;
  /** Undefined for a handle that is none, is of another kind, or belongs to another caller or connection. */
  find(kind: KeptTask["kind"], handle: string): Promise<KeptTask | undefined>;
  /** Where the upstream may tell that a task went on, and the secret it shows for that: a new one at each call. */
  callback(task: KeptTask): Promise<{ url: string; secret: string }>;
  /** Resolves when the upstream told so since `callback`, by whichever process, or when the signal aborts. */
  told(task: KeptTask, signal: AbortSignal): Promise<void>;
}

/** Passed with one request; everything in it ends with that request. */
export interface CallContext {
  readonly caller: Caller;
  readonly assets: Assets;
  readonly signal: AbortSignal;
  /** Milliseconds without progress after which the call is given up. */
  readonly timeoutMs: number;
  /** Milliseconds after which it is given up whatever happens. */
  readonly maxTimeoutMs: number;
  readonly progress?: (progress: Progress) => void;
  readonly notify?: (notification: { method: string; params?: JsonObject }) => void;
  /** Asks the caller and waits for the answer; absent where the caller cannot be asked. Rejects when it refuses. */
  readonly ask?: (question: Question) => Promise<JsonObject>;
  /** `_meta` to forward (trace context, and everything in a transparent endpoint). */
  readonly meta?: JsonObject;
  /** Absent where a call belongs to nobody (health, catalogues). */
  readonly tasks?: TaskDesk;
  /**
   * A short-lived signed statement about who calls, for the audience named. Absent where the connection's
   * configuration does not ask for it.
   */
  readonly assertion?: (audience: string) => Promise<string>;
  /** The retry of a call that answered `input_required`: the caller's answers and the upstream's own state. */
  readonly resume?: { readonly inputResponses?: JsonObject; readonly requestState?: string };
}

/** A finished call, or one that needs answers first (MCP 2026-07-28 `input_required`). */
export type Outcome =
  | { kind: "result"; result: JsonObject }
  | { kind: "input_required"; inputRequests: JsonObject; requestState?: string; result: JsonObject };

/** What a service says about itself, told by the upstream and trusted for nothing. */
export interface Introduction {
  serverInfo?: JsonObject;
  instructions?: string;
  capabilities?: JsonObject;
  /** Protocol revision spoken, e.g. `2026-07-28`. */
  protocol?: string;
}

export interface Health {
  /** `configured`: there is nothing that could be asked without acting. */
  state: "healthy" | "unhealthy" | "configured";
  /** One of the codes of `UpstreamError` where unhealthy. */
  code?: UpstreamErrorCode;
  /** The service's own words, bounded. */
  message?: string;
}

export type Change =
  | { kind: "tools" | "resources" | "prompts" }
  | { kind: "resource_updated"; uri: string; callerKey?: string; params?: JsonObject }
  | { kind: "log"; callerKey: string; params: JsonObject };

export interface AdapterSession {
  introduction(): Introduction;
  /** Drains every page, guarding against a cursor that repeats. */
  listTools(): Promise<ToolDefinition[]>;
  callTool(action: string, args: JsonObject, call: CallContext): Promise<Outcome>;
  check(): Promise<Health>;
  close(): Promise<void>;
  /**
   * The whole input schema of a tool whose listed one was cut (`_meta["jackfield/cut"]`), from memory. Undefined where
   * it is not remembered.
   */
  wholeSchema?(action: string): Promise<JsonObject | undefined>;
  listResources?(): Promise<CatalogueItem[]>;
  listResourceTemplates?(): Promise<CatalogueItem[]>;
  readResource?(uri: string, call: CallContext): Promise<Outcome>;
  listPrompts?(): Promise<CatalogueItem[]>;
  getPrompt?(name: string, args: Record<string, string> | undefined, call: CallContext): Promise<Outcome>;
  complete?(params: JsonObject, call: CallContext): Promise<JsonObject>;
  subscribe?(uri: string, caller: Caller): Promise<void>;
  unsubscribe?(uri: string, caller: Caller): Promise<void>;
  setLogLevel?(level: string, caller: Caller): Promise<void>;
  /** Ends what was kept for a caller (its upstream sessions and subscriptions). */
  forget?(callerKey: string): Promise<void>;
  onChange?(listener: (change: Change) => void): () => void;
}

/** What `prepare` made of a call's arguments: exactly what will be sent. */
export interface Prepared {
  args: JsonObject;
}

/** What redeeming a packet may use. Nothing else reaches the network. */
export interface PairingContext {
  readonly connection: { readonly id: string; readonly slug: string };
  /** As in `AdapterContext`. */
  readonly config: JsonObject;
  /**
   * Takes what is secret and unique in the packet, once and for ever, before anything is sent. False: it was used
   * before, and nothing may be sent.
   */
  readonly claim: (secret: string) => Promise<boolean>;
  /**
   * Guarded fetch that reaches the connection's configured origin only, follows no redirect, is bounded in size and
   * time, and refuses to send before `claim` has answered true.
   */
  readonly fetch: typeof globalThis.fetch;
  readonly identity: { readonly name: string; readonly version: string };
  readonly hop: { readonly header: string; readonly value: string };
}

/** What a provider gave for a packet. */
export interface PairedTokens {
  accessToken: string;
  refreshToken?: string;
  /** Seconds from now. */
  expiresIn?: number;
  /** The scope that was granted, as words separated by blanks; undefined where nobody said one. */
  scope?: string;
}

/**
 * How redeeming ended. `reason` is for the caller: no part of the packet, bounded. `used`: the packet was redeemed
 * before. `wrong`: it is no packet of this connection. `unsent`: the service cannot be reached. After both the packet
 * is as good as before, because nothing was sent. `refused`: the service, or we for what it answered, said no.
 * `unknown`: no answer came; the packet may be spent.
 */
export type Redemption =
  | { kind: "tokens"; tokens: PairedTokens }
  | { kind: "used" }
  | { kind: "wrong" | "unsent" | "refused" | "unknown"; reason: string };

/** Where a service says that one signs in to it, where its protocol has words for that. */
export type SignInPlace =
  /** URL of a discovery document: OpenID Connect Discovery, or RFC 8414. */
  | { kind: "document"; url: string; scopes: readonly string[] }
  /** The endpoints themselves; the first one is absent where only an application can authenticate. */
  | { kind: "endpoints"; authorizationUrl?: string; tokenUrl: string; scopes: readonly string[] };

/** What `Adapter.signInPlace` needs: nothing of it carries a credential. */
export type SignInContext = Pick<AdapterContext, "config" | "fetch" | "hop" | "signal">;

export interface Adapter {
  readonly type: "mcp" | "openapi" | "http" | "a2a" | "ap";
  /** JSON Schema of the adapter's own keys of a connection; validates YAML and draws the form. */
  readonly configSchema: JsonObject;
  /**
   * Pure: what a model wrote loosely as the schema has it, before it is checked against the schema. Absent: arguments
   * are checked as they are.
   */
  coerce?(tool: ToolDefinition, args: JsonObject): JsonObject;
  /** Pure: wire names, defaults, coercion. Guards, approval and audit see its output and nothing changes it after. */
  prepare(tool: ToolDefinition, args: JsonObject): Prepared;
  open(context: AdapterContext): Promise<AdapterSession>;
  /**
   * Asks the service where one signs in to it. Undefined where it says nothing. Absent: signing in goes by what MCP
   * says about it.
   * @param wants `code`: a person signs in; `client`: this deployment authenticates as itself
   */
  signInPlace?(wants: "code" | "client", context: SignInContext): Promise<SignInPlace | undefined>;
  /** Redeems a one-time pairing packet on the host. Absent: connections of this type cannot be paired. */
  redeemPairingCode?(packet: string, context: PairingContext): Promise<Redemption>;
}

export type UpstreamErrorCode =
  | "upstream_unreachable"
  | "upstream_timeout"
  | "upstream_protocol"
  | "upstream_status"
  | "upstream_died"
  | "authentication_required"
  | "blocked_address"
  | "loop_detected"
  | "worker_oom"
  | "worker_timeout"
  | "worker_died"
  | "sandbox_unavailable"
  | "piece_unavailable"
  | "unsupported_in_tool"
  | "result_too_large";

/**
 * An upstream failed. `message` is for the caller (no secrets, bounded), `detail` for log and audit.
 * `processed`: `no` only where the upstream proved that it did not act, so that a write's outcome stays honest.
 */
export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly code: UpstreamErrorCode;
  readonly processed: "no" | "unknown";
  readonly detail: string | undefined;
  constructor(
    code: UpstreamErrorCode,
    message: string,
    options: { processed?: "no" | "unknown"; detail?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.processed = options.processed ?? "unknown";
    this.detail = options.detail;
  }
}

/** A JSON-RPC error the upstream answered with; relayed as such where the protocol allows it. */
export class UpstreamRpcError extends Error {
  override readonly name = "UpstreamRpcError";
  readonly rpcCode: number;
  readonly data: unknown;
  constructor(rpcCode: number, message: string, data?: unknown) {
    super(message);
    this.rpcCode = rpcCode;
    this.data = data;
  }
}
