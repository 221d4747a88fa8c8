/**
 * Authorization and token requests, made into what the library accepts: clients ask for scopes of other servers, spell
 * our URL in several ways or leave it out. What is wrong beyond that is left for the library to refuse.
 */
import type { Resources } from "./resources.ts";
import { askedScope, refreshedScope } from "./scopes.ts";

/** Prompts that the library knows; others (`select_account`) would end the request. */
const PROMPTS = new Set(["none", "login", "consent"]);
/** Parameters of OpenID Connect that could only turn a good request into an error: no ID tokens are issued here. */
const DROPPED = ["id_token_hint", "max_age", "acr_values", "claims", "nonce", "ui_locales", "display", "login_hint"];

/** The query of an authorization request. */
export function normaliseAuthorize(query: URLSearchParams, resources: Resources): URLSearchParams {
  const normal = new URLSearchParams(query);
  for (const name of DROPPED) normal.delete(name);
  normal.set("scope", askedScope(query.get("scope")));
  const prompts = (query.get("prompt") ?? "").split(/\s+/).filter((prompt) => PROMPTS.has(prompt));
  if (prompts.length === 0) normal.delete("prompt");
  else normal.set("prompt", prompts.join(" "));
  normaliseResource(normal, resources);
  return normal;
}

/** The form of a token request. */
export function normaliseToken(form: URLSearchParams, resources: Resources): URLSearchParams {
  const normal = new URLSearchParams(form);
  const scope = form.get("scope");
  const kept = scope === null ? undefined : refreshedScope(scope);
  if (kept === undefined) normal.delete("scope");
  else normal.set("scope", kept);
  normaliseResource(normal, resources);
  return normal;
}

/**
 * Every spelling of one endpoint becomes its canonical URL. No resource at all means the default endpoint at the
 * authorization endpoint (the library asks for it) and the granted one at the token endpoint.
 */
function normaliseResource(parameters: URLSearchParams, resources: Resources): void {
  // Some clients send parameters without a value, which the library takes for an empty one.
  const asked = parameters.getAll("resource").filter((resource) => resource !== "");
  if (asked.length === 0) {
    parameters.delete("resource");
    return;
  }
  const canonical = new Set(
    asked.map((resource) => {
      const endpoint = resources.find(resource);
      return endpoint ? resources.urlOf(endpoint) : undefined;
    }),
  );
  const [only] = canonical;
  if (canonical.size === 1 && only !== undefined) parameters.set("resource", only);
}

/**
 * What a client sent for its own authentication, with what cannot work taken out: public clients that send Basic with
 * an empty secret mean their `client_id`.
 */
export function normaliseBasic(
  form: URLSearchParams,
  authorization: string | undefined,
): { form: URLSearchParams; authorization: string | undefined } {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return { form, authorization };
  const [id = "", ...rest] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  if (rest.join(":") !== "" || id === "") return { form, authorization };
  const normal = new URLSearchParams(form);
  if (!normal.has("client_id")) normal.set("client_id", decoded(id));
  return { form: normal, authorization: undefined };
}

/** RFC 6749 section 2.3.1: both parts are form-encoded first, though many clients do not. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", "%20"));
  } catch {
    return text;
  }
}
