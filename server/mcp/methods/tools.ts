/** `tools/list` and `tools/call`. */
import { ProtocolError, ProtocolErrorCode, type Server, type ServerContext } from "@modelcontextprotocol/server";
import type { JsonObject, ToolDefinition } from "../../../adapters/contract.ts";
import { callTool } from "../../gateway/call.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { conduct } from "../asking/rounds.ts";
import { callerOf, type Face, paramsOf, type SessionView } from "../face.ts";
import { fixedDefinitions, runFixedTool } from "../fixed-tools/index.ts";
import { page } from "./pages.ts";

/** Sets the handlers of the tools on one server object. */
export function serveTools(face: Face, server: Server, session: SessionView | undefined): void {
  server.setRequestHandler("tools/list", async (request, ctx) => {
    const caller = callerOf(ctx);
    const place = { endpointId: caller.endpoint.id, holderKey: caller.holderKey };
    const tools = await listTools(face, caller);
    face.holds.listed(place);
    const { items, nextCursor } = page(tools, (tool) => tool.name, paramsOf(request)["cursor"]);
    return { tools: items.map(asListed), ...(nextCursor === undefined ? {} : { nextCursor }) };
  });
  server.setRequestHandler("tools/call", async (request, ctx) => {
    const params = paramsOf(request);
    const name = params["name"];
    if (typeof name !== "string")
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "params.name must be a string");
    return asCallResult(await call(face, server, session, ctx, name, params["arguments"]));
  });
}

/** What this caller's list holds: the fixed tools, then what is listed, pinned or active, in catalogue order. */
async function listTools(face: Face, caller: GatewayCaller): Promise<ToolDefinition[]> {
  const { toolset, endpoint } = caller;
  const approved = toolset.entries.filter((entry) => entry.tool.state === "approved");
  if (toolset.transparent) return approved.map((entry) => entry.listed);
  const fixed = fixedDefinitions(toolset);
  if (endpoint.config.discovery === "listed") return [...fixed, ...approved.map((entry) => entry.listed)];
  const shown = new Set(endpoint.config.pin);
  if (endpoint.config.activation === "on") {
    for (const name of await face.activations.active({ endpointId: endpoint.id, holderKey: caller.holderKey }))
      shown.add(name);
  }
  return [...fixed, ...approved.filter((entry) => shown.has(entry.name)).map((entry) => entry.listed)];
}

async function call(
  face: Face,
  server: Server,
  session: SessionView | undefined,
  ctx: ServerContext,
  name: string,
  args: unknown,
): Promise<JsonObject> {
  const caller = callerOf(ctx);
  const fixed = caller.toolset.transparent
    ? undefined
    : runFixedTool(face, { server, session, ctx, caller, name, args });
  if (fixed) return fixed;
  face.activations.touch({ endpointId: caller.endpoint.id, holderKey: caller.holderKey }, name);
  return conduct(face, { server, ctx, session, caller, subject: name, args, results: true }, (reachOf, caller) =>
    callTool(face.gateway, { caller, door: "by_name", name, args, reach: (entry) => reachOf(entry.connection) }),
  );
}

// The SDK's types name the fields it knows; an upstream's definitions and results carry more, and all of it passes.
type ListedTool = { name: string; inputSchema: { type: "object"; [key: string]: unknown } };
const asListed = (tool: ToolDefinition): ListedTool => ({
  ...tool,
  inputSchema: { ...tool.inputSchema, type: "object" },
});
const asCallResult = (result: JsonObject): JsonObject & { content: [] } => ({ content: [], ...result });
