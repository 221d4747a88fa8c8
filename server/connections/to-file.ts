/** What is stored -> the words of the files: what editors are shown, what differences are told in, what is exported. */
import type { JsonObject } from "../../adapters/contract.ts";
import type { AccessRules } from "../access/classes.ts";
import type { AuthConfig, ConnectionConfig, EndpointConfig, SchemeAuth } from "./types.ts";

/**
 * A connection as a file would declare it, without what a file may leave out.
 * `connectionConfig` of the result is the same connection again.
 */
export function connectionWords(slug: string, config: ConnectionConfig): JsonObject {
  const { type, label, description, aliases, subject, required, asks, review, credential, auth, access } = config;
  return {
    type,
    ...(label === slug ? {} : { label }),
    ...(description === "" ? {} : { description }),
    ...(aliases.length === 0 ? {} : { aliases }),
    ...adapterWords(config.adapter),
    ...(auth.method === "none" ? {} : { auth: authWords(auth) }),
    ...(credential === undefined ? {} : { credential }),
    ...(subject === "workspace" ? {} : { subject }),
    ...(required ? { required } : {}),
    ...(asks === "none" ? {} : { asks }),
    ...(review === "patterns" ? {} : { review }),
    ...accessWords(access),
  };
}

/** An endpoint as a file would declare it, without what a file may leave out. */
export function endpointWords(slug: string, config: EndpointConfig): JsonObject {
  const { label, discovery, activation, outputSchema, audience, signIn, pin, variables, tools, ...rest } = config;
  const { allow, forbid } = tools;
  const shown = {
    ...(allow === undefined ? {} : { allow }),
    ...(forbid.length === 0 ? {} : { forbid }),
  };
  return {
    ...(label === slug ? {} : { label }),
    ...rest,
    ...(discovery === "search" ? {} : { discovery }),
    ...(activation === "on" ? {} : { activation }),
    ...(outputSchema === "search" ? {} : { outputSchema }),
    ...(audience === "private" ? {} : { audience }),
    ...(signIn === "on" ? {} : { signIn }),
    ...(pin.length === 0 ? {} : { pin }),
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
    ...(Object.keys(shown).length === 0 ? {} : { tools: shown }),
  };
}

/** A document that is a file of the configuration is named by its whole path. */
function adapterWords({ specFile, ...adapter }: JsonObject): JsonObject {
  return specFile === undefined ? adapter : { spec: specFile, ...adapter };
}

function authWords(auth: AuthConfig): JsonObject {
  const { schemes, secretEnv, clientIdEnv, privateKeyEnv, ...rest } = auth;
  return {
    ...rest,
    ...(clientIdEnv === undefined ? {} : { clientId: variable(clientIdEnv) }),
    ...(secretEnv === undefined ? {} : { secret: variable(secretEnv) }),
    ...(privateKeyEnv === undefined ? {} : { privateKey: variable(privateKeyEnv) }),
    ...(schemes === undefined
      ? {}
      : { schemes: Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name, schemeWords(scheme)])) }),
  };
}

function schemeWords({ secretEnv, ...scheme }: SchemeAuth): JsonObject {
  return { ...scheme, ...(secretEnv === undefined ? {} : { secret: variable(secretEnv) }) };
}

function variable(name: string): string {
  return `\${env:${name}}`;
}

function accessWords(access: AccessRules): { access?: JsonObject | "suggested" } {
  const { read, write, approval, preset, expose, disable, resources, prompts, suggested } = access;
  if (suggested) return { access: "suggested" };
  const ofClass = (tools: string[], always: "always" | undefined) =>
    tools.length === 0 && always === undefined ? undefined : { tools, ...(always ? { approval: always } : {}) };
  const words: JsonObject = {
    read: ofClass(read, approval.read),
    write: ofClass(write, approval.write),
    approval: Object.keys(approval.tools).length === 0 ? undefined : approval.tools,
    preset,
    expose,
    disable: disable.length === 0 ? undefined : disable,
    resources: resources.length === 0 ? undefined : resources,
    prompts: prompts.length === 0 ? undefined : prompts,
  };
  const said = Object.entries(words).filter(([, value]) => value !== undefined);
  return said.length === 0 ? {} : { access: Object.fromEntries(said) };
}
