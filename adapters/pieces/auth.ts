/** Credentials of pieces: the form that a person fills in, and the value that each generation of the framework gets. */
import type { Credential, JsonObject } from "../contract.ts";
import { tokensIn } from "../credential-scope.ts";
import type { Method, PieceConfig } from "./config.ts";
import type { Action, AuthForm, AuthType, PieceDescription, Prop } from "./description.ts";

/** One field of a credential's form. */
export interface CredentialField {
  /** As it is stored: `credential set NAME --field FIELD`. */
  field: string;
  title: string;
  description: string;
  required: boolean;
  secret: boolean;
  choices?: unknown[];
}

/** One way to authenticate, as an administrator meets it. */
export interface CredentialForm {
  method: Exclude<Method, "none">;
  title: string;
  description: string;
  /** What to fill in; for OAuth the values of its URLs' placeholders. */
  fields: CredentialField[];
  scopes?: string[];
}

/** A credential cannot be made into what the piece wants; the text says what is missing and where it is given. */
export class CredentialProblem extends Error {
  override readonly name = "CredentialProblem";
}

/** All ways that a piece authenticates; of the oldest generation, those that its actions take as an argument. */
export function authForms({ auth, actions }: PieceDescription): AuthForm[] {
  if (auth.length > 0) return auth;
  const forms = new Map<AuthType, AuthForm>();
  for (const { auth: form } of actions.flatMap(({ props }) => props)) {
    if (form !== undefined && !forms.has(form.type)) forms.set(form.type, { ...form, validates: false });
  }
  return [...forms.values()];
}

/** Whether the piece works without any credential. */
export function needsNoCredential(description: PieceDescription): boolean {
  return authForms(description).length === 0;
}

/** The forms for a page, a command or a document. */
export function credentialForms(description: PieceDescription): CredentialForm[] {
  return authForms(description).map((form) => {
    const { title, props } = form;
    const method = form.type === "OAUTH2" ? ("oauth" as const) : ("fields" as const);
    const scopes = form.oauth === undefined ? {} : { scopes: form.oauth.scopes };
    return {
      method,
      title,
      description: form.description,
      fields: fixedFields(form) ?? props.flatMap(fieldOf),
      ...scopes,
    };
  });
}

/** The fields of the forms that the framework itself lays out. */
function fixedFields({ type, title }: AuthForm): CredentialField[] | undefined {
  const field = (name: string, words: string, secret: boolean): CredentialField => {
    return { field: name, title: words, description: "", required: true, secret };
  };
  if (type === "SECRET_TEXT") return [field("secret", title, true)];
  if (type === "BASIC_AUTH") return [field("username", "User name", false), field("password", "Password", true)];
  return undefined;
}

function fieldOf(prop: Prop): CredentialField[] {
  if (prop.type === "MARKDOWN") return [];
  const { name, title, description, required, options } = prop;
  const choices = options.map(({ value }) => value);
  const about = { field: fieldName(name), title: title || name, description, required, secret: isSecret(prop) };
  return [choices.length === 0 ? about : { ...about, choices }];
}

/** Some authors ask for a token in a plain text field. */
function isSecret({ name, type }: Prop): boolean {
  return type === "SECRET_TEXT" || (/TEXT$/.test(type) && /token|secret|password|api_?key/i.test(name));
}

/** Names that mean something else in a stored credential. */
const RESERVED: ReadonlySet<string> = new Set(["secret", "client_id", "client_secret", "private_key"]);

/** The field of a stored credential for a name of the piece: `adminToken` is `admin_token`. */
export function fieldName(name: string): string {
  const snake = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return (RESERVED.has(snake) || !/^[a-z]/.test(snake) ? `piece_${snake}` : snake).slice(0, 64);
}

/** The form that a connection uses: the one that fits how it authenticates. Undefined: none is needed. */
export function formFor(description: PieceDescription, method: Method): AuthForm | undefined {
  const forms = authForms(description);
  if (forms.length === 0) return undefined;
  const fitting: Record<Method, readonly AuthType[]> = {
    none: [],
    oauth: ["OAUTH2"],
    bearer: ["SECRET_TEXT", "OAUTH2"],
    basic: ["BASIC_AUTH"],
    fields: ["CUSTOM_AUTH", "SECRET_TEXT", "BASIC_AUTH"],
  };
  for (const type of fitting[method]) {
    const form = forms.find((candidate) => candidate.type === type);
    if (form !== undefined) return form;
  }
  if (method === "none" && forms.every((form) => !form.required)) return undefined;
  const wanted = forms.map(({ type }) => HOW[type]).join(", or ");
  throw new CredentialProblem(`The piece authenticates with ${wanted}; the connection's auth says ${method}.`);
}

const HOW: Readonly<Record<AuthType, string>> = {
  OAUTH2: "OAuth (auth: {method: oauth, app: ...})",
  SECRET_TEXT: "a secret (auth: {method: bearer})",
  BASIC_AUTH: "user name and password (auth: {method: basic})",
  CUSTOM_AUTH: "fields (auth: {method: fields})",
};

/** The values that a form's credential holds, before any generation's wrapping. */
type Bare =
  | { type: "SECRET_TEXT"; secret: string }
  | { type: "BASIC_AUTH"; username: string; password: string }
  | { type: "CUSTOM_AUTH"; props: JsonObject }
  | { type: "OAUTH2"; token: string; data: JsonObject; props: JsonObject };

export interface ShapedCredential {
  /** `context.auth`, or what goes into the argument of the oldest generation. */
  value: unknown;
  /** What the piece's `validate` gets. */
  forValidate: unknown;
  /** What must not come back. */
  secrets: string[];
}

/**
 * Shapes a credential for a piece.
 * @throws CredentialProblem naming what is missing
 */
export function shapeCredential(
  description: PieceDescription,
  form: AuthForm,
  credential: Credential | undefined,
  values: PieceConfig["values"],
): ShapedCredential {
  const bare = bareOf(form, credential, values);
  const wrapped = wrappedOf(bare);
  // Both older generations know the secret and the props themselves; the tagged objects came with the context's versions.
  const old = bare.type === "SECRET_TEXT" ? bare.secret : bare.type === "CUSTOM_AUTH" ? bare.props : wrapped;
  return { value: description.contextVersion === 0 ? old : wrapped, forValidate: old, secrets: secretsIn(form, bare) };
}

/** The props of an action with the credential in those arguments that take one. */
export function withCredentialProps(action: Pick<Action, "props">, type: AuthType, value: unknown): JsonObject {
  const taking = action.props.filter((prop) => prop.auth?.type === type);
  return Object.fromEntries(taking.map(({ name }) => [name, value]));
}

function wrappedOf(bare: Bare): JsonObject {
  switch (bare.type) {
    case "SECRET_TEXT":
      return { type: bare.type, secret_text: bare.secret };
    case "BASIC_AUTH":
      return { type: bare.type, username: bare.username, password: bare.password };
    case "CUSTOM_AUTH":
      return { type: bare.type, props: bare.props };
    case "OAUTH2":
      return { type: bare.type, access_token: bare.token, token_type: "Bearer", data: bare.data, props: bare.props };
  }
}

function bareOf(form: AuthForm, credential: Credential | undefined, values: JsonObject): Bare {
  if (credential === undefined) throw new CredentialProblem(`The connection has no credential; ${HOW[form.type]}.`);
  switch (form.type) {
    case "SECRET_TEXT": {
      const secret =
        credential.kind === "bearer"
          ? credential.token
          : credential.kind === "fields"
            ? credential.values["secret"]
            : "";
      if (secret === undefined || secret === "") throw missing(["secret"]);
      return { type: form.type, secret };
    }
    case "BASIC_AUTH": {
      if (credential.kind === "basic") {
        return { type: form.type, username: credential.username, password: credential.password };
      }
      const { username, password } = credential.kind === "fields" ? credential.values : {};
      if (username === undefined || password === undefined) throw missing(["username", "password"]);
      return { type: form.type, username, password };
    }
    case "OAUTH2": {
      if (credential.kind !== "bearer") throw new CredentialProblem("The piece needs a sign-in (auth.method: oauth).");
      return {
        type: form.type,
        token: credential.token,
        data: { access_token: credential.token, token_type: "Bearer", ...credential.data },
        props: values,
      };
    }
    case "CUSTOM_AUTH":
      return { type: form.type, props: customProps(form, credential.kind === "fields" ? credential.values : {}) };
  }
}

function customProps(form: AuthForm, given: Readonly<Record<string, string>>): JsonObject {
  const props = form.props.filter(({ type }) => type !== "MARKDOWN");
  const lacking = props.filter((prop) => prop.required && fieldValue(prop, given) === undefined);
  if (lacking.length > 0) throw missing(lacking.map(({ name }) => fieldName(name)));
  const entries = props.flatMap((prop) => {
    const value = fieldValue(prop, given);
    return value === undefined ? [] : [[prop.name, value] as const];
  });
  return Object.fromEntries(entries);
}

/** The stored text as the prop's type has it. */
function fieldValue(prop: Prop, given: Readonly<Record<string, string>>): unknown {
  const field = fieldName(prop.name);
  const text = Object.hasOwn(given, field) ? given[field] : undefined;
  if (text === undefined) return prop.defaultValue ?? (prop.type === "CHECKBOX" ? false : undefined);
  switch (prop.type) {
    case "NUMBER":
      if (text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
      throw new CredentialProblem(`The field ${field} of the credential must be a number.`);
    case "CHECKBOX":
      return text === "true";
    case "STATIC_MULTI_SELECT_DROPDOWN":
      return text.split(",").map((item) => item.trim());
    case "STATIC_DROPDOWN": {
      const option = prop.options.find(({ value }) => String(value) === text);
      if (option !== undefined || prop.options.length === 0) return option?.value ?? text;
      const choices = prop.options.map(({ value }) => String(value)).join(", ");
      throw new CredentialProblem(`The field ${field} of the credential must be one of: ${choices}.`);
    }
    default:
      return text;
  }
}

function missing(fields: readonly string[]): CredentialProblem {
  const how = fields.map((field) => (field === "secret" ? "" : ` --field ${field}`));
  const words = fields.length === 1 ? "the field" : "the fields";
  return new CredentialProblem(
    `The credential lacks ${words} ${fields.join(", ")}. An administrator sets it: credential set NAME${how[0] ?? ""}, or under auth.fields.`,
  );
}

/** What is secret in it: what the piece says is, and tokens wherever they stand in the answer of a sign-in. */
function secretsIn(form: AuthForm, bare: Bare): string[] {
  switch (bare.type) {
    case "SECRET_TEXT":
      return [bare.secret];
    case "BASIC_AUTH":
      return [bare.password, Buffer.from(`${bare.username}:${bare.password}`, "utf8").toString("base64")];
    case "CUSTOM_AUTH": {
      const texts = form.props.flatMap((prop) => {
        const text = bare.props[prop.name];
        return typeof text === "string" ? [{ text, secret: isSecret(prop) }] : [];
      });
      const secrets = texts.filter(({ secret }) => secret).map(({ text }) => text);
      // Some authors send two of the fields as user and password (RFC 7617).
      const pairs = secrets.flatMap((secret) => texts.slice(0, 8).map(({ text }) => `${text}:${secret}`));
      return [...secrets, ...pairs];
    }
    case "OAUTH2":
      return [bare.token, ...tokensIn(bare.data, 0)];
  }
}
