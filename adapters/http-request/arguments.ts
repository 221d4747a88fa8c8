/** What is sent of the arguments that were given. */
import type { JsonObject } from "../contract.ts";

/** Without those that are null: a parameter that is null is absent. A body stays, because null may be its value. */
export function present(args: JsonObject, body = "body"): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([key, value]) => value !== null || key === body));
}
