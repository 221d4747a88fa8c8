/** `tool_read` and `tool_write`: the generic callers, for clients that do not list what `tool_search` found. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { ERRORS, JackfieldError } from "../../errors.ts";
import { callTool } from "../../gateway/call.ts";
import { pairingTarget } from "../../gateway/pairing-tools.ts";
import { failure } from "../../gateway/results.ts";
import { conduct } from "../asking/rounds.ts";
import type { Face } from "../face.ts";
import type { FixedCall } from "./index.ts";
import { runPair } from "./pair.ts";
import { namesAsset, runReadAsset } from "./read-asset.ts";

/** Calls the named tool through the one pipeline; an unknown name is a result that says how to find one. */
export async function runToolCaller(
  face: Face,
  call: FixedCall,
  door: "tool_read" | "tool_write",
): Promise<JsonObject> {
  const given: JsonObject = typeof call.args === "object" && call.args !== null ? { ...call.args } : {};
  const { caller } = call;
  // Models fill optional texts with nothing.
  const approval = door === "tool_write" && typeof given["approval"] === "string" ? given["approval"].trim() : "";
  const found = approval === "" ? undefined : await face.gateway.approvals.register.find(approval, caller);
  if (approval !== "" && found === undefined) return failure("approval_unknown", ERRORS.approval_unknown.text);
  const name = given["name"] ?? found?.toolName;
  if (typeof name !== "string" || name === "") {
    return failure("invalid_arguments", `${door} needs "name": the full name of a tool, as tool_search gives it.`);
  }
  const args = parsed(given["arguments"]);
  if (namesAsset(name)) return runReadAsset(face, caller, name, args);
  const pairs = pairingTarget(caller.toolset, name);
  if (pairs !== undefined) {
    if (door === "tool_write") return runPair(face, { caller, name, args, only: pairs });
    return failure("class_refused", `${name} can change things. ${ERRORS.class_refused.text}`);
  }
  face.activations.touch({ endpointId: caller.endpoint.id, holderKey: caller.holderKey }, name);
  try {
    return await conduct(
      face,
      { ...call, subject: `${door}:${name}:${approval}`, args, results: true },
      (reachOf, caller) =>
        callTool(face.gateway, {
          caller,
          door,
          name,
          args,
          ...(approval === "" ? {} : { approval }),
          reach: (entry) => reachOf(entry.connection),
        }),
    );
  } catch (error) {
    if (error instanceof JackfieldError && error.code === "unknown_tool") return failure("unknown_tool", error.message);
    throw error;
  }
}

/** Some models write the arguments as a string of JSON. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    // Not JSON: the pipeline refuses it with words.
    return value;
  }
}
