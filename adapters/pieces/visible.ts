/** Which actions of a piece a connection shows, and what they may be taken for. */
import type { JsonObject, ToolDefinition } from "../contract.ts";
import type { PieceConfig } from "./config.ts";
import type { Action, PieceDescription } from "./description.ts";
import { isLookedUp, schemaOf } from "./schema.ts";

/** A request of the caller's own making with the credential: every piece of the newer kind has it. */
const OWN_REQUEST = "custom_api_call";

export type Shown = Pick<PieceConfig, "expose" | "audience" | "actions">;

/** The actions that exist at a connection. */
export function visibleActions({ actions }: PieceDescription, shown: Shown): Action[] {
  const named = new Set(shown.expose ?? []);
  const offered = shown.actions === undefined ? undefined : new Set(shown.actions);
  return actions.filter((action) => {
    if (offered !== undefined && !offered.has(action.name)) return false;
    // Named in full, by the operator or by the connection, is asked for.
    if (named.has(action.name) || offered?.has(action.name)) return true;
    if (!runsAlone(action)) return false;
    // No list of what it may call: it can do whatever the credential can.
    if (action.name === OWN_REQUEST) return false;
    return shown.audience.includes(action.audience ?? "both");
  });
}

/** Whether an action needs neither a flow around it nor a browser. */
export function runsAlone({ needs }: Pick<Action, "needs">): boolean {
  return !needs.includes("flow") && !needs.includes("browser");
}

/** The tool of an action; undefined where it takes something that nobody knows how to give. */
export function toolOf(action: Action): ToolDefinition | undefined {
  const made = schemaOf(action);
  if (made.kind === "unsupported") return undefined;
  const { name, title, description } = action;
  return {
    name,
    ...(title === "" ? {} : { title }),
    description: description || title || name,
    inputSchema: made.schema,
    annotations: annotationsOf(action),
  };
}

/** Actions that nothing says of whether they read are taken for writing; whether one may be repeated says nothing. */
export function annotationsOf({ classification, idempotent }: Action): JsonObject {
  const reads = classification === "READ" || classification === "SEARCH";
  return {
    readOnlyHint: reads,
    ...(reads ? {} : { destructiveHint: classification !== "WRITE" }),
    ...(idempotent === undefined ? {} : { idempotentHint: idempotent }),
    openWorldHint: true,
  };
}

/** Whether a piece has an argument whose values can be looked up. */
export function hasChoices(actions: readonly Action[]): boolean {
  return actions.some(({ props }) => props.some((prop) => isLookedUp(prop) || prop.properties.some(isLookedUp)));
}
