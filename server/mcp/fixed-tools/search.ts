/** `tool_search`: the answer, then what it activates and who is told. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { assetOwner, type GatewayCaller } from "../../gateway/caller.ts";
import { connectionsFor, unmetRequirements } from "../../gateway/connection-states.ts";
import { keepLarge } from "../../gateway/keep-large.ts";
import { isCut, wholeSchema } from "../../gateway/whole-schema.ts";
import type { Face } from "../face.ts";
import type { FixedCall } from "./index.ts";
import { readArguments } from "./search-arguments.ts";
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
  const result = withUnmet(
    await withWhole(face, caller, args, answer.result),
    await unmetRequirements(face.gateway.authorizations, caller),
  );
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

/**
 * A schema that was cut is told as such where its tool was selected, and given whole with `detail: "full"`: as text,
 * read on like any other that is long.
 */
async function withWhole(face: Face, caller: GatewayCaller, args: unknown, result: JsonObject): Promise<JsonObject> {
  const read = readArguments(args ?? {});
  const selected = "problem" in read ? [] : (read.select ?? []);
  const cut = selected
    .map((name) => caller.toolset.byName.get(name))
    .filter((entry) => entry !== undefined && entry.tool.state === "approved" && isCut(entry.tool.definition));
  const { content } = result;
  const [entry] = cut;
  if (entry === undefined || !Array.isArray(content)) return result;
  const wanted = "detail" in read && read.detail === "full" && selected.length === 1;
  const schema = wanted ? await wholeSchema(face.gateway, caller, entry) : undefined;
  if (schema === undefined) {
    const ask = JSON.stringify({ query: `select:${entry.name}`, detail: "full" });
    const words = wanted
      ? `The whole schema of ${entry.name} is not there; parts that accept anything take what the service documents.`
      : `The schema of ${entry.name} was cut: parts that accept anything have more inside. All of it: tool_search ${ask}.`;
    return { ...result, content: [...content, { type: "text", text: words }] };
  }
  const assets = face.gateway.assets.of(assetOwner(caller), entry.connection.id);
  const whole = { content: [{ type: "text", text: JSON.stringify(schema) }] };
  const kept = await keepLarge(whole, { entry, assets, caller, log: face.log });
  const blocks = Array.isArray(kept["content"]) ? kept["content"] : [];
  return { ...result, content: [...content, ...blocks] };
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
