/**
 * Arguments of an action -> JSON Schema.
 *
 * The schema is written so that `arguments.ts` can tell from it alone what each value has to become: a DYNAMIC or
 * OBJECT is an object, JSON an object or a list, a dropdown without fixed options has no type.
 */
import type { JsonObject } from "../contract.ts";
import type { Action, Prop } from "./description.ts";

/** The companion tool of every connection that has choices to look up. */
export const OPTIONS_TOOL = "resolve_options";

/** Types that are no arguments: help for a form, and credentials. */
const NOT_ARGUMENTS: ReadonlySet<string> = new Set([
  "MARKDOWN",
  "OAUTH2",
  "SECRET_TEXT",
  "BASIC_AUTH",
  "CUSTOM_AUTH",
  "OIDC",
]);

const TEXTS: ReadonlySet<string> = new Set(["SHORT_TEXT", "LONG_TEXT", "RICH_TEXT", "COLOR", "CUSTOM"]);
/** Bytes of a schema after which its texts are cut, as far as needed. */
const LARGE = 12 * 1024;
const MOST_LABELS = 25;
const SHORT_TEXT = 120;

/** Keys of a FILE argument. */
export const FILE_KEYS = ["filename", "url", "base64", "asset"] as const;

export type ActionSchema = { kind: "schema"; schema: JsonObject } | { kind: "unsupported"; reason: string };

/** The input schema of an action, or which argument nobody knows how to give. */
export function schemaOf({ props }: Action): ActionSchema {
  const unknown = unknownIn(props);
  if (unknown !== undefined) {
    return { kind: "unsupported", reason: `argument ${unknown.name} is of type ${unknown.type}, which is not known` };
  }
  const full = objectSchema(props, (text) => text);
  if (sizeOf(full) <= LARGE) return { kind: "schema", schema: full };
  // First the texts of what may be left out are shortened, then all of them, then they go.
  const required = new Set(props.filter((prop) => prop.required).map(({ name }) => name));
  const cut = (length: number, all: boolean) =>
    objectSchema(props, (text, name) => (all || !required.has(name) ? shortened(text, length) : text));
  for (const [length, all] of [
    [SHORT_TEXT, false],
    [SHORT_TEXT, true],
    [40, true],
  ] as const) {
    const smaller = cut(length, all);
    if (sizeOf(smaller) <= LARGE) return { kind: "schema", schema: smaller };
  }
  return { kind: "schema", schema: cut(0, false) };
}

/** Whether an argument's choices can only be asked for. */
export function isLookedUp(prop: Prop): boolean {
  return ["DROPDOWN", "MULTI_SELECT_DROPDOWN", "DYNAMIC"].includes(prop.type);
}

/** What a call of the action takes, without what is no argument. */
export function argumentsOf(props: readonly Prop[]): Prop[] {
  return props.filter(({ type }) => !NOT_ARGUMENTS.has(type));
}

/** A JSON Schema for these arguments; those of unknown types are left out. */
export function schemaOfProps(props: readonly Prop[]): JsonObject {
  return objectSchema(props, (text) => text);
}

type Text = (text: string, argument: string) => string;

function objectSchema(props: readonly Prop[], text: Text): JsonObject {
  const entries = argumentsOf(props).flatMap((prop) => {
    const schema = one(prop, (given) => text(given, prop.name));
    return schema === undefined ? [] : [{ prop, schema }];
  });
  // What has a default is filled in where a call leaves it out.
  const required = entries
    .filter(({ prop, schema }) => prop.required && schema["default"] === undefined)
    .map(({ prop }) => prop.name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(({ prop, schema }) => [prop.name, schema])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function one(prop: Prop, text: (text: string) => string): JsonObject | undefined {
  const schema = shapeOf(prop, text);
  if (schema === undefined) return undefined;
  const words = [prop.description || (sameName(prop) ? "" : prop.title), ...hintsOf(prop)].filter(
    (part) => part !== "",
  );
  const description = text(words.join(" "));
  const fallback = defaultOf(prop, schema);
  return {
    ...(description === "" ? {} : { description }),
    ...schema,
    ...(fallback === undefined ? {} : { default: fallback }),
  };
}

function shapeOf(prop: Prop, text: (text: string) => string): JsonObject | undefined {
  const { type, options, properties } = prop;
  if (TEXTS.has(type)) return { type: "string" };
  const values = options.map(({ value }) => value);
  switch (type) {
    case "NUMBER":
      return { type: "number" };
    case "CHECKBOX":
      return { type: "boolean" };
    case "DATE_TIME":
      return { type: "string", format: "date-time" };
    case "JSON":
      return { type: ["object", "array"] };
    case "OBJECT":
    case "DYNAMIC":
      return { type: "object", additionalProperties: true };
    case "ARRAY":
      return { type: "array", items: properties.length === 0 ? {} : objectSchema(properties, text) };
    case "STATIC_DROPDOWN":
      return values.length > 0 && values.every(isScalar) ? { enum: [...new Set(values)] } : {};
    case "STATIC_MULTI_SELECT_DROPDOWN":
      return {
        type: "array",
        items: values.length > 0 && values.every(isScalar) ? { enum: [...new Set(values)] } : {},
      };
    case "DROPDOWN":
      return {};
    case "MULTI_SELECT_DROPDOWN":
      return { type: "array", items: {} };
    case "FILE":
      return {
        type: "object",
        properties: {
          filename: { type: "string" },
          url: { type: "string", format: "uri" },
          base64: { type: "string", contentEncoding: "base64" },
          asset: { type: "string" },
        },
        additionalProperties: false,
      };
    default:
      return undefined;
  }
}

/** What a model has to know beyond the author's words. */
function hintsOf({ type, options }: Prop): string[] {
  switch (type) {
    case "FILE":
      return ["Give url, base64, or asset (a handle of a stored file)."];
    case "DROPDOWN":
    case "MULTI_SELECT_DROPDOWN":
      return [`Look values up with ${OPTIONS_TOOL}; a known id may be given as it is.`];
    case "DYNAMIC":
      return [`Look its fields up with ${OPTIONS_TOOL} first.`];
    case "STATIC_DROPDOWN":
    case "STATIC_MULTI_SELECT_DROPDOWN": {
      if (!options.every(({ value }) => isScalar(value))) {
        const listed = options.slice(0, MOST_LABELS).map(({ label, value }) => `${label} = ${JSON.stringify(value)}`);
        return [`One of: ${listed.join("; ")}.`];
      }
      const told = options.filter(({ label, value }) => plain(label) !== plain(String(value))).slice(0, MOST_LABELS);
      return told.length === 0 ? [] : [`${told.map(({ label, value }) => `${String(value)}: ${label}`).join("; ")}.`];
    }
    default:
      return [];
  }
}

/** The author's default where it fits; a required checkbox without one is off, as in the form of the piece. */
function defaultOf({ type, required, defaultValue, properties }: Prop, schema: JsonObject): unknown {
  const given = defaultValue;
  if (given === undefined) return type === "CHECKBOX" && required ? false : undefined;
  const choices = schema["enum"];
  if (Array.isArray(choices)) return choices.includes(given) ? given : undefined;
  switch (type) {
    case "NUMBER":
      return typeof given === "number" ? given : undefined;
    case "CHECKBOX":
      return typeof given === "boolean" ? given : required ? false : undefined;
    case "OBJECT":
      return isRecord(given) ? given : undefined;
    case "JSON":
      return typeof given === "object" ? given : undefined;
    case "ARRAY":
      return Array.isArray(given) && properties.length === 0 ? given : undefined;
    case "MULTI_SELECT_DROPDOWN":
      return Array.isArray(given) ? given : undefined;
    case "DROPDOWN":
    case "STATIC_DROPDOWN":
      return given;
    default:
      return TEXTS.has(type) && typeof given === "string" && given !== "" ? given : undefined;
  }
}

function unknownIn(props: readonly Prop[]): Prop | undefined {
  for (const prop of argumentsOf(props)) {
    if (shapeOf(prop, (text) => text) === undefined) return prop;
    const inner = unknownIn(prop.properties);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sameName({ name, title }: Prop): boolean {
  return plain(name) === plain(title);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : length === 0 ? "" : `${text.slice(0, length - 1).trimEnd()}…`;
}

function sizeOf(schema: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(schema));
}
