/** `resources/list`, `resources/templates/list`, `resources/read`, and subscriptions of legacy sessions. */
import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { ServedConnection } from "../../connections/types.ts";
import { JackfieldError } from "../../errors.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { useItem } from "../../gateway/item.ts";
import { type AssetPart, type AssetReading, parseAssetUri, readAsset } from "../../gateway/read-asset.ts";
import type { Toolset } from "../../gateway/toolset.ts";
import { matchesTemplate, parsePublicUri, publicTemplate, publicUri } from "../../gateway/uris.ts";
import { conduct } from "../asking/rounds.ts";
import { callerOf, type Face, paramsOf, type SessionView } from "../face.ts";
import { page } from "./pages.ts";

/** Sets the handlers of the resources on one server object. */
export function serveResources(face: Face, server: Server, session: SessionView | undefined): void {
  server.setRequestHandler("resources/list", (request, ctx) => {
    const resources = visible(callerOf(ctx).toolset, "resources", "uri", publicUri);
    const { items, nextCursor } = page(resources, (item) => item.uri, paramsOf(request)["cursor"]);
    return {
      resources: items.map((item) => ({ name: item.uri, ...item })),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
  });
  server.setRequestHandler("resources/templates/list", (request, ctx) => {
    const templates = visible(callerOf(ctx).toolset, "templates", "uriTemplate", publicTemplate);
    const { items, nextCursor } = page(templates, (item) => item.uriTemplate, paramsOf(request)["cursor"]);
    const resourceTemplates = items.map((item) => ({ name: item.uriTemplate, ...item }));
    return { resourceTemplates, ...(nextCursor === undefined ? {} : { nextCursor }) };
  });
  server.setRequestHandler("resources/read", async (request, ctx) => {
    const caller = callerOf(ctx);
    const { uri } = request.params;
    const kept = parseAssetUri(uri);
    if (kept !== undefined) return { contents: [contentOf(uri, await readKept(face, caller, uri, kept))] };
    const { connection, own } = findResource(caller.toolset, uri);
    const result = await conduct(
      face,
      { server, ctx, session, caller, subject: uri, args: {}, results: false },
      (reachOf) =>
        useItem(face.gateway, {
          caller,
          door: "resource",
          connection,
          item: own,
          reach: reachOf(connection),
          work: (upstream, call) => {
            if (!upstream.readResource) throw unknownResource(uri);
            return upstream.readResource(own, call);
          },
        }),
    );
    return { contents: [], ...withPublicContents(result, caller, connection) };
  });
}

/** @throws ProtocolError -32602 with `data.uri` for a file that is not the caller's here, as for any resource */
async function readKept(
  face: Face,
  caller: GatewayCaller,
  uri: string,
  kept: Omit<AssetReading, "door">,
): Promise<AssetPart> {
  try {
    return await readAsset(face.gateway, caller, { ...kept, door: "resource" });
  } catch (error) {
    if (!(error instanceof JackfieldError) || !error.code.startsWith("asset_")) throw error;
    const code = error.rpc ?? ProtocolErrorCode.InvalidParams;
    throw new ProtocolError(code, error.message, { uri, code: error.code });
  }
}

function contentOf(uri: string, { asset, bytes, text, offset, next }: AssetPart) {
  const { size, digest } = asset;
  const part = { size, sha256: digest, offset, length: bytes.length, ...(next === undefined ? {} : { next }) };
  const common = { uri, mimeType: asset.type, _meta: { "jackfield/asset": part } };
  return text === undefined ? { ...common, blob: bytes.toString("base64") } : { ...common, text };
}

/** Subscriptions: only a transparent endpoint offers them; modern callers use `subscriptions/listen` instead. */
export function serveSubscriptions(face: Face, server: Server, session: SessionView): void {
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const) {
    server.setRequestHandler(method, async (request, ctx) => {
      const caller = callerOf(ctx);
      const { uri } = request.params;
      const { connection, own } = findResource(caller.toolset, uri);
      const holder = { key: `session:${session.id}`, capabilities: {} };
      await face.gateway.sessions.use(connection, caller.principal.key, async (upstream) => {
        if (method === "resources/subscribe") await upstream.subscribe?.(own, holder);
        else await upstream.unsubscribe?.(own, holder);
      });
      session.rememberSubscription(own, method === "resources/subscribe");
      return {};
    });
  }
}

/** @throws ProtocolError -32602 with `data.uri` for a resource this caller cannot see */
export function findResource(toolset: Toolset, uri: string): { connection: ServedConnection; own: string } {
  const parsed = toolset.transparent ? only(toolset, uri) : parsePublicUri(uri);
  const connection = parsed && toolset.served.get(parsed.slug);
  if (!parsed || !connection || !isVisible(toolset, connection, parsed.uri)) throw unknownResource(uri);
  return { connection, own: parsed.uri };
}

/** A template by its own address, for completions. @throws ProtocolError -32602 where the caller cannot see it */
export function findTemplate(
  toolset: Toolset,
  address: { slug?: string; uri: string },
): { connection: ServedConnection; own: string } {
  for (const connection of toolset.served.values()) {
    if (!toolset.transparent && connection.slug !== address.slug) continue;
    const known = connection.templates.some((template) => template["uriTemplate"] === address.uri);
    if (known && toolset.admits(connection, "resource", address.uri)) return { connection, own: address.uri };
  }
  return { ...findResource(toolset, address.slug === undefined ? address.uri : publicUri(address.slug, address.uri)) };
}

function only(toolset: Toolset, uri: string): { slug: string; uri: string } | undefined {
  const [slug] = toolset.served.keys();
  return slug === undefined ? undefined : { slug, uri };
}

/** A resource need not be listed to be read; an admitted address is enough, or a template that admits it. */
function isVisible(toolset: Toolset, connection: ServedConnection, uri: string): boolean {
  if (toolset.admits(connection, "resource", uri)) return true;
  return connection.templates.some((template) => {
    const pattern = String(template["uriTemplate"]);
    return toolset.admits(connection, "resource", pattern) && matchesTemplate(pattern, uri);
  });
}

const unknownResource = (uri: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource not found: ${uri.slice(0, 200)}`, { uri });

function visible<K extends "uri" | "uriTemplate">(
  toolset: Toolset,
  kind: "resources" | "templates",
  key: K,
  toPublic: (slug: string, uri: string) => string,
): (JsonObject & { [k in K]: string })[] {
  const items: (JsonObject & { [k in K]: string })[] = [];
  for (const connection of toolset.served.values()) {
    for (const definition of connection[kind]) {
      const own = String(definition[key]);
      if (!toolset.admits(connection, "resource", own)) continue;
      const address = { [key]: toolset.transparent ? own : toPublic(connection.slug, own) } as { [k in K]: string };
      items.push({ ...definition, ...address });
    }
  }
  return items;
}

/** Contents carry the address they were asked by, so that a client finds them again. */
function withPublicContents(result: JsonObject, caller: GatewayCaller, connection: ServedConnection): JsonObject {
  const { contents } = result;
  if (caller.toolset.transparent || !Array.isArray(contents)) return result;
  return {
    ...result,
    contents: contents.map((content: JsonObject) =>
      typeof content["uri"] === "string" ? { ...content, uri: publicUri(connection.slug, content["uri"]) } : content,
    ),
  };
}
