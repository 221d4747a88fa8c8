/**
 * What a piece tells about itself, read from what its code answered in the sandbox.
 *
 * Foreign code made it, so nothing here is taken on trust: every text is bounded, every list has an end, and what has
 * another shape than the framework gives it is left out. Three generations of the framework are read alike.
 */
import { arrayOf, isObject, objectOf } from "../http-request/json.ts";

/** Who the piece's author made an action for. */
export type Audience = "ai" | "human" | "both";
export type Classification = "READ" | "SEARCH" | "WRITE" | "DESTRUCTIVE";

export interface PropOption {
  label: string;
  value: unknown;
}

/** One argument of an action, or one field of a credential. */
export interface Prop {
  name: string;
  /** As the framework names it: `SHORT_TEXT`, `DROPDOWN`, ... A newer framework may know more. */
  type: string;
  title: string;
  description: string;
  required: boolean;
  defaultValue?: unknown;
  /** Of the static dropdowns. */
  options: PropOption[];
  /** Of an ARRAY whose items are objects. */
  properties: Prop[];
  /** Arguments whose values its options depend on, in the order they are filled in. */
  refreshers: string[];
  /** Of an argument that is a credential (framework 0.2). */
  auth?: AuthForm;
}

export const AUTH_TYPES = ["OAUTH2", "SECRET_TEXT", "BASIC_AUTH", "CUSTOM_AUTH"] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** One way to authenticate. */
export interface AuthForm {
  type: AuthType;
  /** Its place in the piece's own list. */
  index: number;
  title: string;
  description: string;
  required: boolean;
  /** Fields of CUSTOM_AUTH; what the URLs of OAUTH2 have placeholders for. */
  props: Prop[];
  /** Whether the piece can say if a credential works. */
  validates: boolean;
  oauth?: {
    authorizationUrl: string;
    tokenUrl: string;
    scopes: string[];
    pkce: boolean;
    authentication: "header" | "body";
    parameters: Record<string, string>;
  };
}

/**
 * What the code of an action says that it uses: a flow to wait in or to change, a browser, the answer of a flow's run,
 * the store of a flow.
 */
export const NEEDS = ["flow", "browser", "answer", "store"] as const;
export type Need = (typeof NEEDS)[number];

export interface Action {
  /** The name under which it runs. */
  name: string;
  title: string;
  description: string;
  audience?: Audience;
  classification?: Classification;
  idempotent?: boolean;
  needs: Need[];
  props: Prop[];
}

export interface PieceDescription {
  title: string;
  description: string;
  /** Of `getContextInfo()`; 0 where the piece has none (both older generations). */
  contextVersion: number;
  auth: AuthForm[];
  actions: Action[];
  /** How many; they are not offered. */
  triggers: number;
}

const MOST_ACTIONS = 1000;
const MOST_PROPS = 400;
const MOST_OPTIONS = 1000;
const DEEPEST = 3;
const LONGEST = { name: 200, title: 200, description: 4000, value: 4000 };

/** @throws TypeError where it is no description at all */
export function readDescription(raw: unknown): PieceDescription {
  if (!isObject(raw)) throw new TypeError("the piece does not describe itself");
  const version = Number(raw["contextVersion"] ?? 0);
  return {
    title: bounded(raw["displayName"], LONGEST.title),
    description: bounded(raw["description"], LONGEST.description),
    contextVersion: Number.isInteger(version) && version > 0 ? version : 0,
    auth: arrayOf(raw["auth"])
      .slice(0, 20)
      .flatMap((form, index) => authOf(form, index) ?? []),
    actions: Object.entries(objectOf(raw["actions"]))
      .slice(0, MOST_ACTIONS)
      .flatMap(([name, action]) => actionOf(name, action) ?? []),
    triggers: arrayOf(raw["triggers"]).length,
  };
}

function actionOf(name: string, raw: unknown): Action | undefined {
  if (!isObject(raw) || name === "" || name.length > LONGEST.name) return undefined;
  const ai = objectOf(raw["aiMetadata"]);
  const audience = oneOf(raw["audience"], ["ai", "human", "both"] as const);
  const classification = oneOf(raw["classification"], ["READ", "SEARCH", "WRITE", "DESTRUCTIVE"] as const);
  // Text written for models comes before text written for a form.
  const description = bounded(ai["description"], LONGEST.description) || bounded(raw["description"], 4000);
  return {
    name,
    title: bounded(raw["displayName"], LONGEST.title),
    description,
    ...(audience === undefined ? {} : { audience }),
    ...(classification === undefined ? {} : { classification }),
    ...(typeof ai["idempotent"] === "boolean" ? { idempotent: ai["idempotent"] } : {}),
    needs: NEEDS.filter((need) => arrayOf(raw["needs"]).includes(need)),
    props: propsOf(raw["props"], 0),
  };
}

/** Arguments that a dynamic one turns out to have, as a piece's code gives them. */
export function readProps(raw: unknown): Prop[] {
  return propsOf(raw, 1);
}

function propsOf(raw: unknown, depth: number): Prop[] {
  if (depth > DEEPEST) return [];
  const entries = Object.entries(objectOf(raw)).slice(0, MOST_PROPS);
  return entries.flatMap(([name, prop]) => propOf(name, prop, depth) ?? []);
}

function propOf(name: string, raw: unknown, depth: number): Prop | undefined {
  if (!isObject(raw) || typeof raw["type"] !== "string" || name === "" || name.length > LONGEST.name) return undefined;
  const type = raw["type"].slice(0, 60);
  const auth = authOf(raw, 0);
  return {
    name,
    type,
    title: bounded(raw["displayName"], LONGEST.title),
    description: bounded(raw["description"], LONGEST.description),
    required: raw["required"] === true,
    ...(isPlain(raw["defaultValue"]) ? { defaultValue: raw["defaultValue"] } : {}),
    options: type.startsWith("STATIC_") ? optionsOf(objectOf(raw["options"])["options"]) : [],
    properties: type === "ARRAY" ? propsOf(raw["properties"], depth + 1) : [],
    refreshers: arrayOf(raw["refreshers"]).filter((name) => typeof name === "string"),
    ...(auth === undefined ? {} : { auth }),
  };
}

/** Options of a dropdown, as a piece gives them: label and value, bounded. */
export function optionsOf(raw: unknown): PropOption[] {
  return arrayOf(raw)
    .slice(0, MOST_OPTIONS)
    .flatMap((option) => {
      if (!isObject(option) || option["value"] === undefined) return [];
      const label = option["label"];
      const text = typeof label === "string" || typeof label === "number" ? String(label) : "";
      return [{ label: text.slice(0, LONGEST.title), value: option["value"] }];
    });
}

function authOf(raw: unknown, index: number): AuthForm | undefined {
  if (!isObject(raw)) return undefined;
  const type = oneOf(raw["type"], AUTH_TYPES);
  if (type === undefined) return undefined;
  return {
    type,
    index,
    title: bounded(raw["displayName"], LONGEST.title),
    description: bounded(raw["description"], LONGEST.description),
    required: raw["required"] !== false,
    props: propsOf(raw["props"], 1),
    validates: arrayOf(raw["functions"]).includes("validate"),
    ...(type === "OAUTH2" ? { oauth: oauthOf(raw) } : {}),
  };
}

function oauthOf(raw: Record<string, unknown>): NonNullable<AuthForm["oauth"]> {
  const parameters = Object.entries(objectOf(raw["extra"])).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  const prompt = oneOf(raw["prompt"], ["none", "consent", "login"] as const);
  return {
    authorizationUrl: bounded(raw["authUrl"], 4000),
    tokenUrl: bounded(raw["tokenUrl"], 4000),
    scopes: arrayOf(raw["scope"]).filter((scope) => typeof scope === "string"),
    pkce: raw["pkce"] === true,
    authentication: raw["authorizationMethod"] === "HEADER" ? "header" : "body",
    parameters: { ...Object.fromEntries(parameters), ...(prompt === undefined ? {} : { prompt }) },
  };
}

/** A default that can be written down: no null, no function, not endless. */
function isPlain(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return JSON.stringify(value).length <= LONGEST.value;
}

function oneOf<Value extends string>(raw: unknown, values: readonly Value[]): Value | undefined {
  return values.find((value) => value === raw);
}

function bounded(value: unknown, length: number): string {
  return typeof value === "string" ? value.trim().slice(0, length) : "";
}
