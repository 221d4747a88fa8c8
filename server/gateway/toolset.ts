/**
 * The tools that can be seen at one endpoint. Compiled once per (environment revision, endpoint) and shared; nothing
 * else decides visibility (design section 4, step 2). Scopes hide nothing: a call that lacks one is told which.
 */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { JsonObject, ToolDefinition } from "../../adapters/contract.ts";
import { type ApprovalFloor, approvalFloor } from "../access/approvals.ts";
import { conditionsOf } from "../access/conditions.ts";
import { compilePolicy, type Grant, grantOf, type Policy } from "../access/policy.ts";
import type { ServedConnection, ServedEndpoint, ServedEnvironment, ServedTool } from "../connections/types.ts";
import type { SearchDocument } from "../search/documents.ts";
import { buildIndex, prepareIndex, type SearchIndex } from "../search/index.ts";
import { rank } from "../search/rank.ts";
import { type PairingTool, pairingDocument, pairingToolOf } from "./pairing-tools.ts";
import { type PropertyMap, portableSchema } from "./portable-schema.ts";

export interface ToolEntry {
  /** What a caller calls: `<connection>__<action>`, or the upstream's own name at a transparent endpoint. */
  readonly name: string;
  /** The upstream's own name. */
  readonly action: string;
  readonly connection: ServedConnection;
  readonly tool: ServedTool;
  readonly class: "read" | "write";
  readonly approval: "none" | "required";
  /** Whether the operator's floor asks for the approval: then it is another person's. */
  readonly floor: boolean;
  readonly grant: Grant;
  /** The conditions of the grant in words, where a call must fulfil any. */
  readonly conditions?: string;
  /** As it is shown: full name, portable schema, annotations from the class. */
  readonly listed: ToolDefinition;
  /** From listed property keys back to the upstream's. */
  readonly restore: PropertyMap;
}

export type ConnectionState =
  | "ok"
  | "loading"
  | "failed"
  | "needsAuthorization"
  | "requiresPrivateAudience"
  | "disabled";

export interface VisibleConnection {
  readonly slug: string;
  readonly label: string;
  readonly description: string;
  readonly aliases: readonly string[];
  readonly state: ConnectionState;
  /** How many of its tools this caller may use. */
  readonly tools: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly required: boolean;
  /** Where this caller can sign in, if that is what is missing. */
  readonly signInUrl?: string;
}

export interface Toolset {
  readonly revision: string;
  readonly transparent: boolean;
  /** Sorted by connection, then in the upstream's order: identical on every replica. */
  readonly entries: readonly ToolEntry[];
  readonly byName: ReadonlyMap<string, ToolEntry>;
  readonly byAction: ReadonlyMap<string, readonly ToolEntry[]>;
  readonly connections: readonly VisibleConnection[];
  /** Connections that exist for this caller, by slug. */
  readonly served: ReadonlyMap<string, ServedConnection>;
  /** `<connection>__pair` of the connections that may be paired here, by name; search shows them, lists do not. */
  readonly pairing: ReadonlyMap<string, PairingTool>;
  /** The same grants decide over prompts (`<connection>__<prompt>`) and resources (`<connection>__<uri>`). */
  admits(connection: ServedConnection, kind: "resource" | "prompt", key: string): boolean;
  /** The search index, built on first use. */
  index(): SearchIndex;
  /** Builds the index a little at a time, so that whoever searches first does not wait and nobody else does. */
  warm(): Promise<void>;
}

export interface Toolsets {
  for(environment: ServedEnvironment, endpoint: ServedEndpoint): Toolset;
}

const CACHED = 256;
const WARM_SEARCHES = 100;
const NOTHING_RENAMED: PropertyMap = new Map();

const NO_FLOOR = approvalFloor([]);

/**
 * Keeps compiled toolsets, the least recently used dropped first.
 * @param floor the operator's floor as it is now
 */
export function createToolsets(floor: () => ApprovalFloor = () => NO_FLOOR): Toolsets {
  const cache = new Map<string, Toolset>();
  return {
    for(environment, endpoint) {
      const lowest = floor();
      const key = `${environment.revision}|${endpoint.id}|${lowest.revision}`;
      let toolset = cache.get(key);
      if (toolset) cache.delete(key);
      else toolset = compile(environment, endpoint, key, lowest);
      cache.set(key, toolset);
      if (cache.size > CACHED) cache.delete(cache.keys().next().value ?? key);
      return toolset;
    },
  };
}

function compile(environment: ServedEnvironment, endpoint: ServedEndpoint, key: string, floor: ApprovalFloor): Toolset {
  const transparent = endpoint.config.discovery === "transparent";
  const reachable = environment.connections.filter(
    (connection) => !transparent || connection.slug === endpoint.config.connection,
  );
  // Design section 7, Audience: a connection of single persons does not exist on a shared surface.
  const hidden = (connection: ServedConnection) =>
    endpoint.config.audience === "shared" && connection.subject === "user";
  const served = reachable.filter((connection) => !hidden(connection));
  const policy = compilePolicy({
    ...(endpoint.config.tools.allow ? { allow: endpoint.config.tools.allow } : {}),
    forbid: endpoint.config.tools.forbid,
    environmentForbid: environment.forbid,
    connections: environment.connections.map((connection) => ({ slug: connection.slug })),
  });
  const entries: ToolEntry[] = [];
  for (const connection of served) {
    for (const tool of connection.tools) {
      const entry = toEntry(connection, tool, { policy, endpoint, floor, transparent });
      if (entry) entries.push(entry);
    }
  }
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const byAction = new Map<string, ToolEntry[]>();
  for (const entry of entries) {
    if (entry.tool.state !== "approved") continue;
    const same = byAction.get(entry.action);
    if (same) same.push(entry);
    else byAction.set(entry.action, [entry]);
  }
  const counts = new Map<string, number>();
  for (const entry of entries) {
    if (entry.tool.state === "approved")
      counts.set(entry.connection.slug, (counts.get(entry.connection.slug) ?? 0) + 1);
  }
  const pairing = transparent ? [] : served.flatMap((connection) => pairingToolOf(connection, policy) ?? []);
  let index: SearchIndex | undefined;
  const documents = () => [
    ...pairing.filter(({ name }) => !byName.has(name)).map(pairingDocument),
    ...entries.filter((entry) => entry.tool.state === "approved").map(documentOf),
  ];
  const toolset: Toolset = {
    revision: createHash("sha256").update(key).digest("base64url").slice(0, 22),
    transparent,
    entries,
    byName,
    byAction,
    connections: reachable.map((connection) =>
      toVisible(connection, hidden(connection), counts.get(connection.slug) ?? 0),
    ),
    served: new Map(served.map((connection) => [connection.slug, connection])),
    pairing: new Map(pairing.map((tool) => [tool.name, tool])),
    admits(connection, kind, key) {
      if (!connection.admits[kind](key)) return false;
      return isGrant(
        grantOf(policy, { name: `${connection.slug}__${key}`, connectionSlug: connection.slug, action: key }),
      );
    },
    index() {
      index ??= buildIndex(documents());
      return index;
    },
    async warm() {
      if (index) return;
      const built = await prepareIndex(documents());
      index ??= built;
      // The first searches of a process run uncompiled, several times as slow: these are them, and nobody waits.
      for (const { name, action } of entries.slice(0, WARM_SEARCHES)) {
        rank(built, `${name} ${action}`, { most: 10 });
        await setImmediate();
      }
    },
  };
  return toolset;
}

function documentOf({ name, action, connection, tool, listed, class: access }: ToolEntry): SearchDocument {
  const { title, description } = tool.definition;
  return {
    name,
    connection: connection.slug,
    action,
    ...(title ? { title } : {}),
    ...(description ? { description } : {}),
    inputSchema: listed.inputSchema,
    connectionLabel: connection.label,
    connectionDescription: connection.description,
    aliases: connection.aliases,
    access,
    schemaHash: tool.hash,
  };
}

interface Rules {
  readonly policy: Policy;
  readonly endpoint: ServedEndpoint;
  readonly floor: ApprovalFloor;
  readonly transparent: boolean;
}

function toEntry(
  connection: ServedConnection,
  tool: ServedTool,
  { policy, endpoint, floor, transparent }: Rules,
): ToolEntry | undefined {
  // A pending tool exists for nobody but its reviewer; a changed one answers `tool_changed` to whom it was granted.
  if (tool.state === "pending") return undefined;
  const grant = grantOf(policy, { name: tool.name, connectionSlug: connection.slug, action: tool.action });
  if (!isGrant(grant)) return undefined;
  const { schema, restore } = transparent
    ? { schema: tool.definition.inputSchema, restore: NOTHING_RENAMED }
    : portableSchema(tool.definition.inputSchema);
  const conditions = transparent ? undefined : conditionsOf(grant, restore);
  const floored = floor.covers(tool.name, `${connection.slug}__${tool.action}`);
  return {
    name: transparent ? tool.action : tool.name,
    action: tool.action,
    connection,
    tool,
    class: tool.class,
    approval: floored ? "required" : tool.approval,
    floor: floored,
    grant,
    ...(conditions === undefined ? {} : { conditions }),
    listed: transparent ? tool.definition : withConditions(listedDefinition(tool, schema, endpoint), conditions),
    restore,
  };
}

/** Conditions stand in the description: it is the one part of a definition that every client shows a model. */
function withConditions(listed: ToolDefinition, conditions: string | undefined): ToolDefinition {
  if (conditions === undefined) return listed;
  const { description = "" } = listed;
  return { ...listed, description: description === "" ? conditions : `${description.trimEnd()}\n\n${conditions}` };
}

/** Annotations come from the reviewed class, not from the upstream's own hints (MCP: annotations are untrusted). */
function listedDefinition(tool: ServedTool, inputSchema: JsonObject, endpoint: ServedEndpoint): ToolDefinition {
  const { outputSchema, annotations, _meta: _dropped, execution: _execution, ...rest } = tool.definition;
  const title = annotations?.["title"];
  return {
    ...rest,
    name: tool.name,
    inputSchema,
    ...(outputSchema && endpoint.config.outputSchema === "list" ? { outputSchema } : {}),
    annotations: {
      ...(typeof title === "string" ? { title } : {}),
      ...(annotations?.["idempotentHint"] === true ? { idempotentHint: true } : {}),
      readOnlyHint: tool.class === "read",
      destructiveHint: tool.class === "write",
      openWorldHint: true,
    },
  };
}

function toVisible(connection: ServedConnection, hidden: boolean, tools: number): VisibleConnection {
  return {
    slug: connection.slug,
    label: connection.label,
    description: connection.description,
    aliases: connection.aliases,
    state: hidden ? "requiresPrivateAudience" : connection.state,
    tools,
    required: connection.required,
    ...(connection.loadError && !hidden ? { error: connection.loadError } : {}),
  };
}

function isGrant(answer: ReturnType<typeof grantOf>): answer is Grant {
  return answer !== undefined && !("denied" in answer) && !("unbound" in answer);
}
