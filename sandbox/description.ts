/** Reads what a worker says of a piece. It may have been taken over: shapes are looked at. */
import { type Bundle, type Json, type JsonObject, type PieceDescription, SandboxError } from "./contract.ts";

export function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every text inside a value. */
export function textsOf(value: Json | undefined): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

/** A description as a worker gives it. @throws SandboxError where it is none */
export function readDescription(result: Json, { piece }: Bundle): PieceDescription {
  const { displayName, description, contextVersion, auth, actions, triggers } = isObject(result) ? result : {};
  if (!Array.isArray(auth) || !Array.isArray(triggers) || actions === undefined || !isObject(actions)) {
    throw new SandboxError("piece_unloadable", `The piece ${piece} does not describe itself.`, { processed: "no" });
  }
  return {
    displayName: String(displayName),
    ...(typeof description === "string" && { description }),
    contextVersion: String(contextVersion),
    auth: auth.filter(isObject),
    actions: Object.fromEntries(
      Object.entries(actions).filter((entry): entry is [string, JsonObject] => isObject(entry[1])),
    ),
    triggers: triggers.map(String),
  };
}
