/** `tool_search`: the answer, then what it activates and who is told. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { connectionsFor, unmetRequirements } from "../../gateway/connection-states.ts";
import type { Face } from "../face.ts";
import type { FixedCall } from "./index.ts";
import { answerToolSearch } from "./tool-search.ts";

/** Searches the stored catalogue; never waits for an upstream. */
export async function runToolSearch(face: Face, { caller, session, ctx, args }: FixedCall): Promise<JsonObject> {
  const { toolset, endpoint } = caller;
  const place = { endpointId: endpoint.id, holderKey: caller.holderKey };
  // Where everything is listed, or nothing may move, a find changes nothing.
  const activation = endpoint.config.activation === "on" && endpoint.config.discovery === "search";
  const active = activation ? await face.activations.active(place) : new Set<string>();
  const connections = await connectionsFor(face.gateway.authorizations, caller);
  const answer = answerToolSearch(args, { toolset: { ...toolset, connections }, active, activation });
  const { activate } = answer;
  const result = withUnmet(answer.result, await unmetRequirements(face.gateway.authorizations, caller));
  if (!activation || activate.length === 0) return result;
  const pinned = new Set(endpoint.config.pin);
  const added = await face.activations.activate(
    place,
    activate.filter((name) => !pinned.has(name)),
  );
  if (added.length === 0) return result;
  // Once, and first: on the open stream, else on the call's own (design section 6).
  const reached = face.notifier.listChanged("tools", place.endpointId, place.holderKey);
  const ownStream = session ? session.streaming() : reached > 0;
  if (!ownStream && session) await ctx.mcpReq.notify({ method: "notifications/tools/list_changed" });
  if (ownStream) await face.holds.wait(place, ctx.mcpReq.signal);
  return result;
}

/** Required connections that cannot be used stand at the head of every answer; they stop nothing. */
function withUnmet(result: JsonObject, unmet: readonly string[]): JsonObject {
  const { content, structuredContent } = result;
  if (unmet.length === 0 || !Array.isArray(content)) return result;
  const structured =
    typeof structuredContent === "object" && structuredContent !== null ? structuredContent : undefined;
  return {
    ...result,
    content: [{ type: "text", text: unmet.join("\n") }, ...content],
    ...(structured ? { structuredContent: { unmetRequirements: unmet, ...structured } } : {}),
  };
}
