/** `pair`. No adapter redeems packets so far, and the answer says so; the packet itself goes nowhere. */
import type { JsonObject } from "../../../adapters/contract.ts";
import { ERRORS } from "../../errors.ts";
import { describeCaller } from "../../gateway/call.ts";
import { failure } from "../../gateway/results.ts";
import type { Face } from "../face.ts";
import type { FixedCall } from "./index.ts";

/** Answers truthfully which connection could take the packet: none. */
export function runPair(face: Face, { caller, args }: FixedCall): Promise<JsonObject> {
  const { connection }: { connection?: unknown } = typeof args === "object" && args !== null ? args : {};
  const asked = typeof connection === "string" ? caller.toolset.served.get(connection) : undefined;
  const reason = asked
    ? `${asked.label} (${asked.type}) does not support pairing.`
    : `None of the ${caller.toolset.served.size} connections here supports pairing.`;
  face.gateway.audit.refused({
    ...describeCaller(caller, "by_name"),
    toolName: "pair",
    decision: "refuse",
    rule: "pairing",
    reason,
    outcomeCode: "pairing_unavailable",
    durationMs: 0,
  });
  return Promise.resolve(
    failure(
      "pairing_unavailable",
      `${ERRORS.pairing_unavailable.text} ${reason} Ask an administrator to set the account up.`,
    ),
  );
}
