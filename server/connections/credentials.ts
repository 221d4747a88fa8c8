/** What a connection authenticates with, opened at the moment of use: a variable of the process or a stored credential. */
import { delimiter, dirname, join, resolve } from "node:path";
import type { AdapterContext, JsonObject, SingleCredential } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { envReferences, resolveEnv } from "./file-secrets.ts";
import { isHeaderValue } from "./header-rules.ts";
import type { StoredCredentials } from "./stored-credentials.ts";
import type { SchemeAuth, ServedConnection } from "./types.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Servers that are installed with the proxy are found by their names. */
const INSTALLED = resolve(import.meta.dirname, "../../node_modules/.bin");

/** The field of a stored credential that a token or key is in. */
const SECRET = "secret";

/** What is needed of a connection to find its credential. */
export type Authenticating = Pick<ServedConnection, "slug" | "organizationId" | "auth" | "credential">;

/** Name of the stored credential that a connection uses: the one it names, else the one with its own name. */
export function credentialName({ slug, credential }: Pick<Authenticating, "slug" | "credential">): string {
  return credential ?? slug;
}

/** The first environment variable that the connection names and that is not set. */
export function missingOf(connection: Pick<ServedConnection, "config" | "auth">, env: Env): string | undefined {
  const named = Object.values(stringMap(connection.config["env"])).flatMap(envReferences);
  named.push(...Object.values(connection.auth.fields ?? {}).flatMap(envReferences));
  const { secretEnv, clientIdEnv, privateKeyEnv } = connection.auth;
  const ofSchemes = Object.values(connection.auth.schemes ?? {}).map((scheme) => scheme.secretEnv);
  for (const name of [secretEnv, clientIdEnv, privateKeyEnv, ...ofSchemes]) if (name !== undefined) named.push(name);
  return named.find((name) => env[name] === undefined || env[name] === "");
}

interface CredentialSources {
  env: Env;
  credentials: Pick<StoredCredentials, "find">;
}

/**
 * The credential of a connection with a secret of its own, or with one for each security scheme of its document;
 * nothing for other methods.
 *
 * The value is looked up at each use. After a refusal it is read from the store again, so that one that was changed
 * elsewhere a moment ago is used at once.
 * It rejects with JackfieldError `missing_variable`, `authorization_required` (there is no such credential) or
 * `credential_unreadable`.
 */
export function credentialOf(connection: Authenticating, parts: CredentialSources): AdapterContext["credential"] {
  const { env, credentials } = parts;
  const { auth } = connection;
  const find = async (scheme: SchemeAuth, field: string, fresh: boolean): Promise<SingleCredential> => {
    const { secretEnv } = scheme;
    if (secretEnv !== undefined) {
      const value = env[secretEnv];
      if (value === undefined || value === "") {
        throw new JackfieldError("missing_variable", { text: `Missing ${secretEnv}` });
      }
      return asSent(scheme, value, `the variable ${secretEnv}`);
    }
    const name = credentialName(connection);
    const stored = await credentials.find(connection.organizationId, name, { fresh });
    const value = stored?.value(field);
    if (value === undefined) {
      const option = field === SECRET ? "" : ` --field ${field}`;
      const text = `There is no credential ${name}. An administrator sets it: credential set ${name}${option}.`;
      throw new JackfieldError("authorization_required", { text });
    }
    return asSent(scheme, value, `the credential ${name}`);
  };
  if (auth.method === "several") {
    return async (refused) => {
      const schemes: [string, SingleCredential][] = [];
      for (const [name, scheme] of Object.entries(auth.schemes ?? {})) {
        schemes.push([name, await find(scheme, fieldOf(name), refused !== undefined)]);
      }
      return { kind: "several", schemes: Object.fromEntries(schemes) };
    };
  }
  if (auth.method === "fields") {
    return async (refused) => ({ kind: "fields", values: await fieldsOf(connection, parts, refused !== undefined) });
  }
  const { method } = auth;
  if (method !== "bearer" && method !== "basic" && method !== "api_key") return async () => undefined;
  const scheme: SchemeAuth = { ...auth, method };
  return (refused) => find(scheme, SECRET, refused !== undefined);
}

/** Values of a form: those of the stored credential, and over them those that the configuration gives. */
async function fieldsOf(
  connection: Authenticating,
  { env, credentials }: CredentialSources,
  fresh: boolean,
): Promise<Record<string, string>> {
  const { fields = {}, secretEnv } = connection.auth;
  const values: Record<string, string> = {};
  const stored = await credentials.find(connection.organizationId, credentialName(connection), { fresh });
  for (const field of stored?.fields ?? []) {
    const value = stored?.value(field);
    if (value !== undefined) values[field] = value;
  }
  const named = secretEnv === undefined ? fields : { ...fields, [SECRET]: `\${env:${secretEnv}}` };
  for (const [field, value] of Object.entries(named)) {
    const filled = resolveEnv(value, env);
    if ("missing" in filled) throw new JackfieldError("missing_variable", { text: `Missing ${filled.missing}` });
    values[field] = filled.value;
  }
  return values;
}

/** The field of a stored credential that holds the secret of a scheme: its name in lower case. */
function fieldOf(scheme: string): string {
  const field = scheme.toLowerCase().replace(/[^a-z0-9]+/g, "_");
  return /^[a-z]/.test(field) ? field.slice(0, 64) : `scheme_${field}`.slice(0, 64);
}

/** An API key in a header named `Authorization` is sent exactly as it is, without a scheme. */
function asSent(auth: SchemeAuth, value: string, source: string): SingleCredential {
  const unsendable = (where: string): JackfieldError => {
    // Refused here, because the errors of HTTP clients quote such a value.
    const text = `The value of ${source} cannot be sent in ${where}: it holds line ends, blanks at an end or characters beyond ASCII.`;
    return new JackfieldError("credential_unreadable", { text });
  };
  if (auth.method === "basic") {
    const at = value.indexOf(":");
    if (auth.username !== undefined) return { kind: "basic", username: auth.username, password: value };
    if (at !== -1) return { kind: "basic", username: value.slice(0, at), password: value.slice(at + 1) };
    const text = `The value of ${source} must be user:password, or auth.username must name the user.`;
    throw new JackfieldError("credential_unreadable", { text });
  }
  const place = auth.method === "bearer" ? "header" : (auth.in ?? "header");
  if (place !== "query" && !isHeaderValue(value)) throw unsendable("a header");
  if (place === "cookie" && /[\s",;\\]/.test(value)) throw unsendable("a cookie");
  if (auth.method === "bearer") return { kind: "bearer", token: value };
  return { kind: place, name: auth.name ?? "X-API-Key", value };
}

/**
 * The adapter's keys as the adapter gets them: `${env:NAME}` filled in, and for a command the path on which it finds
 * the servers installed with the proxy and the Node that runs it.
 */
export function openConfig(connection: Pick<ServedConnection, "config" | "asks">, env: Env): JsonObject {
  const config: JsonObject = { ...connection.config, asks: connection.asks };
  if (!Array.isArray(config["command"])) return config;
  const own = Object.entries(stringMap(config["env"])).map(([name, value]) => {
    const filled = resolveEnv(value, env);
    if ("missing" in filled) throw new JackfieldError("missing_variable", { text: `Missing ${filled.missing}` });
    return [name, filled.value];
  });
  const path = [INSTALLED, dirname(process.execPath), env["PATH"] ?? join("/usr", "bin")].join(delimiter);
  return { ...config, env: { PATH: path, ...Object.fromEntries(own) } };
}

function stringMap(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((entry) => typeof entry[1] === "string"));
}
