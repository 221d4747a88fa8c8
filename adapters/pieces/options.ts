/**
 * The companion tool of a connection: looks up what an argument can be. Dropdowns give their options, dynamic
 * arguments the fields they take. What somebody knows by heart need not be looked up.
 */
import type { JsonObject, ToolDefinition } from "../contract.ts";
import { objectOf, textOf } from "../http-request/json.ts";
import { nearestName } from "../nearest-name.ts";
import { type Action, optionsOf, type Prop, readProps } from "./description.ts";
import { isLookedUp, OPTIONS_TOOL, schemaOfProps } from "./schema.ts";

/** Options that one answer holds; more are told to be there. */
const MOST_OPTIONS = 200;

/** The tool itself; it reads and changes nothing. */
export function optionsTool(title: string): ToolDefinition {
  return {
    name: OPTIONS_TOOL,
    title: "Look up choices",
    description: `Lists what an argument of another ${title} tool can be: the options of a choice, or the fields of an argument whose fields depend on others. Use it where an argument's description says so.`,
    inputSchema: {
      type: "object",
      properties: {
        action: { type: "string", description: "The tool that will be called; its name, or the action in it." },
        prop: { type: "string", description: "The argument to look up." },
        values: {
          type: "object",
          additionalProperties: true,
          description: "Arguments that are known already; choices often depend on them.",
        },
        search: { type: "string", description: "Words to look for among the options, where the service can." },
      },
      required: ["action", "prop"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  };
}

/** What to look up; or the sentence that says why nothing can be. */
export type Lookup =
  | { kind: "lookup"; action: Action; prop: Prop; values: JsonObject; search: string | undefined }
  | { kind: "problem"; text: string };

/** Finds the action and argument that a call names, by the actions that are served. */
export function lookupOf(actions: readonly Action[], args: JsonObject): Lookup {
  const asked = textOf(args["action"]) ?? "";
  const action = actionNamed(actions, asked);
  if (action === undefined) {
    const withChoices = actions.filter(({ props }) => props.some(isLookedUp)).map(({ name }) => name);
    return problem(`There is no action ${asked.slice(0, 100)}.`, nearestName(asked, withChoices));
  }
  const name = textOf(args["prop"]) ?? "";
  const prop = action.props.find((candidate) => candidate.name === name);
  const lookedUp = action.props.filter(isLookedUp).map((candidate) => candidate.name);
  if (prop === undefined)
    return problem(`${action.name} has no argument ${name.slice(0, 100)}.`, nearestName(name, lookedUp));
  if (!isLookedUp(prop)) {
    const others = lookedUp.length === 0 ? "none has" : `these have: ${lookedUp.join(", ")}`;
    return problem(`${name} has nothing to look up; of the arguments of ${action.name} ${others}.`);
  }
  return { kind: "lookup", action, prop, values: objectOf(args["values"]), search: textOf(args["search"]) };
}

/** By its own name, or by the public name of its tool, whose spelling is made legal. */
function actionNamed(actions: readonly Action[], asked: string): Action | undefined {
  const own = actions.find(({ name }) => name === asked);
  if (own !== undefined) return own;
  const last = asked.includes("__") ? asked.slice(asked.indexOf("__") + 2) : asked;
  const fold = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, "");
  const found = actions.filter(({ name }) => fold(name) === fold(last));
  return found.length === 1 ? found[0] : undefined;
}

function problem(text: string, nearest?: string): Lookup {
  return { kind: "problem", text: nearest === undefined ? text : `${text} Did you mean ${nearest}?` };
}

/** Arguments that the lookup depends on and that the call did not give. */
export function missingFor({ prop, action, values }: Extract<Lookup, { kind: "lookup" }>): string[] {
  const known = new Set(action.props.filter(({ auth }) => auth === undefined).map(({ name }) => name));
  return prop.refreshers.filter((name) => known.has(name) && values[name] === undefined);
}

/** What the piece's code gave for a dropdown or a dynamic argument -> a result. */
export function optionsResult(lookup: Extract<Lookup, { kind: "lookup" }>, given: unknown): JsonObject {
  const missing = missingFor(lookup);
  const hint = missing.length === 0 ? "" : ` It depends on ${missing.join(", ")}: give them in values.`;
  if (lookup.prop.type === "DYNAMIC") {
    const props = readProps(given);
    if (props.length === 0) return failed(`There are no fields to fill in.${hint}`);
    const schema = schemaOfProps(props);
    return structured({ schema });
  }
  const answer = objectOf(given);
  const options = optionsOf(answer["options"]);
  if (answer["disabled"] === true || (options.length === 0 && missing.length > 0)) {
    const said = textOf(answer["placeholder"]) ?? "There are no options.";
    return failed(`${said.slice(0, 500)}${hint}`);
  }
  const shown = options.slice(0, MOST_OPTIONS);
  return structured({
    options: shown,
    ...(shown.length < options.length ? { more: options.length - shown.length } : {}),
  });
}

function structured(value: JsonObject): JsonObject {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

function failed(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}
