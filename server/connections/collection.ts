import type { JsonObject } from "../../adapters/contract.ts";
import type { ConnectionType } from "./types.ts";

/** The collection that a connection was made from, where it was made from one: its piece, without scope and prefix. */
export function collectionOf(type: ConnectionType, adapter: JsonObject): string | undefined {
  const piece = type === "ap" ? adapter["piece"] : undefined;
  return typeof piece === "string" ? piece.replace(/^@[^/]*\//, "").replace(/^piece-/, "") : undefined;
}
