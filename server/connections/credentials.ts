/** What a connection needs from the environment of the process: its secret, and the environment of its command. */
import { delimiter, dirname, join, resolve } from "node:path";
import type { Credential, JsonObject } from "../../adapters/contract.ts";
import { JackfieldError } from "../errors.ts";
import { envReferences, resolveEnv } from "./file-secrets.ts";
import type { ServedConnection } from "./types.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Servers that are installed with the proxy are found by their names. */
const INSTALLED = resolve(import.meta.dirname, "../../node_modules/.bin");

/** The first environment variable that the connection names and that is not set. */
export function missingOf(connection: ServedConnection, env: Env): string | undefined {
  const named = Object.values(stringMap(connection.config["env"])).flatMap(envReferences);
  if (connection.auth.secretEnv !== undefined) named.push(connection.auth.secretEnv);
  return named.find((name) => env[name] === undefined || env[name] === "");
}

/** Opens the secret at the moment of use; @throws JackfieldError `missing_variable` where it is not set. */
export function credentialOf(connection: ServedConnection, env: Env): () => Promise<Credential | undefined> {
  const { method, secretEnv, in: place, name } = connection.auth;
  return async () => {
    if (secretEnv === undefined) return undefined;
    const value = env[secretEnv];
    if (value === undefined || value === "") {
      throw new JackfieldError("missing_variable", { text: `Missing ${secretEnv}` });
    }
    if (method === "bearer") return { kind: "bearer", token: value };
    if (method === "api_key") return { kind: place ?? "header", name: name ?? "X-API-Key", value };
    return undefined;
  };
}

/**
 * The adapter's keys as the adapter gets them: `${env:NAME}` filled in, and for a command the path on which it finds
 * the servers installed with the proxy and the Node that runs it.
 */
export function openConfig(connection: ServedConnection, env: Env): JsonObject {
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
