/** The adapter's own keys of a connection, and what the operator's offer of the piece adds to them. */
import type { JsonObject } from "../contract.ts";
import { arrayOf, objectOf, stringsOf, textOf } from "../http-request/json.ts";
import type { Audience } from "./description.ts";

export const AUDIENCES = ["ai", "both", "human"] as const;

export const configSchema: JsonObject = {
  type: "object",
  required: ["piece"],
  properties: {
    piece: { type: "string", title: "Piece", description: "The id under which the operator offers it, as slack." },
    version: { type: "string", title: "Version", description: "Exact. Left out: the one version that is offered." },
    expose: {
      type: "array",
      title: "Actions",
      description: "Only these. One named in full is shown although its author made it for people.",
      items: { type: "string" },
    },
    audience: {
      type: "array",
      title: "Audience",
      description: "Whom the actions were made for. Default: ai and both.",
      items: { enum: [...AUDIENCES] },
      minItems: 1,
    },
  },
};

/** How a connection authenticates, in the words of its file. */
export type Method = "none" | "oauth" | "bearer" | "basic" | "fields";

export interface PieceConfig {
  piece: string;
  /** Hash of the bundle; undefined where the piece is not offered or not installed, with the reason. */
  bundle: string | undefined;
  reason: string;
  method: Method;
  /** Of the OAuth app's placeholders. */
  values: JsonObject;
  expose: string[] | undefined;
  audience: readonly Audience[];
  /** Of the offer: nothing else exists. */
  actions: string[] | undefined;
}

/** Reads a configuration that `configSchema` has accepted, as it is served. */
export function readConfig(config: JsonObject): PieceConfig {
  const audience = AUDIENCES.filter((one) => arrayOf(config["audience"]).includes(one));
  const offered = AUDIENCES.filter((one) => arrayOf(config["offeredAudience"]).includes(one));
  const shown = audience.length > 0 ? audience : (["ai", "both"] as const);
  return {
    piece: textOf(config["piece"]) ?? "",
    bundle: textOf(config["bundle"]),
    reason: textOf(config["reason"]) ?? "The piece is not offered on this server.",
    method: methodOf(config["method"]),
    values: objectOf(config["values"]),
    expose: isList(config["expose"]) ? stringsOf(config["expose"]) : undefined,
    audience: offered.length === 0 ? shown : shown.filter((one) => offered.includes(one)),
    actions: isList(config["actions"]) ? stringsOf(config["actions"]) : undefined,
  };
}

function methodOf(value: unknown): Method {
  return (["oauth", "bearer", "basic", "fields"] as const).find((method) => method === value) ?? "none";
}

function isList(value: unknown): boolean {
  return Array.isArray(value);
}
