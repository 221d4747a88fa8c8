/** Runs the fixed tools. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../adapters/contract.ts";
import type { GatewayCaller } from "../../gateway/caller.ts";
import { pairingTarget } from "../../gateway/pairing-tools.ts";
import type { Face, SessionView } from "../face.ts";
import { runToolCaller } from "./call.ts";
import { runPair } from "./pair.ts";
import { runToolSearch } from "./search.ts";

export { fixedDefinitions } from "./definitions.ts";

export interface FixedCall {
  readonly server: Server;
  readonly session: SessionView | undefined;
  readonly ctx: ServerContext;
  readonly caller: GatewayCaller;
  readonly name: string;
  readonly args: unknown;
}

/** The answer of a fixed tool, or undefined where `name` is not one. */
export function runFixedTool(face: Face, call: FixedCall): Promise<JsonObject> | undefined {
  switch (call.name) {
    case "tool_search":
      return runToolSearch(face, call);
    case "tool_read":
    case "tool_write":
      return runToolCaller(face, call, call.name);
    case "pair":
      return runPair(face, call);
    default: {
      const target = pairingTarget(call.caller.toolset, call.name);
      return target && runPair(face, { ...call, only: target });
    }
  }
}
