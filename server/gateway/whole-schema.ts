/** The whole input schema of a tool whose listed one was cut to fit into a model's context. */
import type { JsonObject, ToolDefinition } from "../../adapters/contract.ts";
import type { Gateway } from "./call.ts";
import type { GatewayCaller } from "./caller.ts";
import { portableSchema } from "./portable-schema.ts";
import type { ToolEntry } from "./toolset.ts";

/** Whether the adapter has cut the schema of a tool. */
export function isCut({ _meta: meta }: ToolDefinition): boolean {
  return typeof meta === "object" && meta !== null && Reflect.get(meta, "jackfield/cut") === true;
}

/**
 * With the keys that the listed schema has. Asks no service: adapters remember it.
 * @returns undefined where it is not remembered, or the connection cannot be opened now
 */
export async function wholeSchema(
  { sessions, log }: Pick<Gateway, "sessions" | "log">,
  caller: GatewayCaller,
  { connection, action }: ToolEntry,
): Promise<JsonObject | undefined> {
  try {
    const whole = await sessions.use(connection, caller.principal.key, async (session) =>
      session.wholeSchema?.(action),
    );
    return whole === undefined ? undefined : portableSchema(whole).schema;
  } catch (error) {
    log.info({ connection: connection.slug, reason: String(error) }, "a whole schema could not be read");
    return undefined;
  }
}
