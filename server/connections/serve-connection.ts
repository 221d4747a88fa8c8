/** One connection as it is served: its configuration, and its stored catalogue as far as access admits it. */

import { setImmediate } from "node:timers/promises";
import { Op } from "sequelize";
import type { CatalogueItem, JsonObject } from "../../adapters/contract.ts";
import { adapterFor } from "../../adapters/index.ts";
import { compileAccess } from "../access/classes.ts";
import { assignNames } from "../gateway/names.ts";
import { portableSchema } from "../gateway/portable-schema.ts";
import type { Store } from "../store/database.ts";
import type { ConnectionStateRow } from "../store/models/connection-states.ts";
import { takeTurns } from "./turns.ts";
import type { ConnectionConfig, ConnectionServingState, ServedConnection, ServedTool } from "./types.ts";

export interface ConnectionToServe {
  id: string;
  slug: string;
  environmentId: string;
  organizationId: string;
  config: ConnectionConfig;
  /** Of the stored credential that it uses, where there is one. */
  credentialRevision: string | undefined;
  revision: string;
  /** Of a piece: what the operator's offer of it adds to its keys. */
  offer?: JsonObject;
}

/** Stored tools that are read with one query. */
const PAGE = 8;

/** @throws GlobError where a stored pattern cannot be read (files are checked before they are stored) */
export async function serveConnection(store: Store, of: ConnectionToServe): Promise<ServedConnection> {
  const { config } = of;
  const access = compileAccess(config.access);
  const connectionId = of.id;
  const state = await store.models.connectionStates.findByPk(connectionId);
  const items = await store.models.catalogueItems.findAll({
    where: { connectionId },
    order: [
      ["kind", "ASC"],
      ["position", "ASC"],
    ],
  });
  const admitted = (kind: "prompt" | "resource" | "template", key: string, admits: (value: string) => boolean) =>
    items
      .filter((item) => item.kind === kind)
      .map((item) => item.definition)
      .filter((definition) => admits(String(definition[key])));
  const prompts: CatalogueItem[] = admitted("prompt", "name", access.prompt);
  // Named over all prompts, so that opening one more never renames another.
  const promptNames = assignNames(
    of.slug,
    items.filter((item) => item.kind === "prompt").map((item) => String(item.definition["name"])),
  );
  const shown = new Set(prompts.map((prompt) => String(prompt["name"])));
  const connection: ServedConnection = {
    id: of.id,
    slug: of.slug,
    type: config.type,
    label: config.label,
    description: config.description,
    aliases: config.aliases,
    config: of.offer === undefined ? config.adapter : pieceConfig(config, of.offer),
    auth: config.auth,
    ...(config.credential === undefined ? {} : { credential: config.credential }),
    ...(of.credentialRevision === undefined ? {} : { credentialRevision: of.credentialRevision }),
    environmentId: of.environmentId,
    organizationId: of.organizationId,
    subject: config.subject,
    required: config.required,
    asks: config.asks,
    review: config.review,
    access: config.access,
    ...(config.approvals === undefined ? {} : { approvals: config.approvals }),
    admits: { resource: access.resource, prompt: access.prompt },
    tools: [],
    prompts,
    resources: admitted("resource", "uri", access.resource),
    templates: admitted("template", "uriTemplate", access.resource),
    promptNames: new Map(
      [...promptNames].filter(([upstream]) => shown.has(upstream)).map(([upstream, name]) => [name, upstream]),
    ),
    ...(state?.introduction ? { introduction: state.introduction } : {}),
    ...servingState(of, state),
    revision: of.revision,
  };
  // A piece that is not offered any more has no tools until it is again; what is known of them stays.
  if (of.offer !== undefined && of.offer["bundle"] === undefined) return connection;
  const turns = takeTurns();
  for (const row of await storedTools(store, connectionId)) {
    await turns.pass();
    const definition = row.reviewedDefinition;
    const hash = row.reviewedHash;
    if (definition === null || hash === null) continue;
    const toolClass = access.classOf(row.upstreamName, definition.annotations);
    if (toolClass === undefined) continue;
    const tool: ServedTool = {
      id: row.id,
      name: row.name,
      action: row.upstreamName,
      definition,
      class: toolClass,
      state: row.state === "changed" ? "changed" : "approved",
      approval: access.approvalOf(row.upstreamName, toolClass),
      hash,
      connection,
    };
    connection.tools.push(tool);
    // Remembered for whoever compiles tool sets: there it would be done for all tools at once.
    portableSchema(definition.inputSchema);
  }
  return connection;
}

/** Page by page: reading tens of thousands at once would stop everything else. In the upstream's order. */
async function storedTools(store: Store, connectionId: string) {
  const read = (after: string) =>
    store.models.tools.findAll({
      attributes: [
        "id",
        "upstreamKey",
        "name",
        "upstreamName",
        "position",
        "reviewedDefinition",
        "reviewedHash",
        "state",
      ],
      where: { connectionId, state: ["approved", "changed"], upstreamKey: { [Op.gt]: after } },
      // The order of an index, so that no page sorts all the others.
      order: [["upstreamKey", "ASC"]],
      limit: PAGE,
    });
  const all: Awaited<ReturnType<typeof read>> = [];
  for (let after = ""; ; ) {
    const rows = await read(after);
    all.push(...rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) break;
    after = last.upstreamKey;
    await setImmediate();
  }
  return all.sort((a, b) => a.position - b.position || (a.id < b.id ? -1 : 1));
}

/** What the adapter of pieces gets: the connection's keys, how it authenticates, and the offer. */
export function pieceConfig(
  { adapter, auth }: Pick<ConnectionConfig, "adapter" | "auth">,
  offer: JsonObject,
): JsonObject {
  return { ...adapter, method: auth.method, values: auth.values ?? {}, ...offer };
}

/** Why a connection that nobody has signed in to could not be read. */
const UNSIGNED = "authorization_required";

function servingState(
  of: ConnectionToServe,
  state: ConnectionStateRow | null,
): { state: ConnectionServingState; loadError?: { code: string; message: string } } {
  if (adapterFor(of.config.type) === undefined) return { state: "disabled" };
  if (of.offer !== undefined && of.offer["bundle"] === undefined) {
    return { state: "failed", loadError: { code: "piece_unavailable", message: String(of.offer["reason"]) } };
  }
  if (lacksCredential(of)) return { state: "needsAuthorization" };
  // Who has signed in is another thing for each caller; here it counts whether anybody ever had.
  const signedIn = state?.catalogueAt != null || (state?.loadErrorCode ?? UNSIGNED) !== UNSIGNED;
  if (of.config.auth.method === "oauth" && !signedIn) return { state: "needsAuthorization" };
  if (state?.loadErrorCode != null) {
    const loadError = { code: state.loadErrorCode, message: state.loadErrorMessage ?? "" };
    // The service itself says that it wants a sign-in that nobody has configured. A credential that it refuses is
    // a failure like others: the next one may be tried at once.
    const unasked = state.loadErrorCode === "authentication_required" && of.config.auth.method === "none";
    return { state: unasked ? "needsAuthorization" : "failed", loadError };
  }
  return { state: state?.catalogueAt == null ? "loading" : "ok" };
}

/** Whether the connection authenticates and nothing here can give it what it needs. */
function lacksCredential({ config, credentialRevision }: ConnectionToServe): boolean {
  switch (config.auth.method) {
    case "none":
    case "oauth":
      return false;
    case "fields": {
      const { fields = {}, secretEnv } = config.auth;
      return credentialRevision === undefined && secretEnv === undefined && Object.keys(fields).length === 0;
    }
    case "several": {
      const schemes = Object.values(config.auth.schemes ?? {});
      return credentialRevision === undefined && schemes.some(({ secretEnv }) => secretEnv === undefined);
    }
    default:
      return (config.auth.secretEnv ?? config.auth.privateKeyEnv ?? credentialRevision) === undefined;
  }
}
