/** `tool_search`: the answer, then what it activates and who is told. */
import type { JsonObject } from "../../../adapters/contract.ts";
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
  const { result, activate } = answerToolSearch(args, { toolset, active, activation });
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
