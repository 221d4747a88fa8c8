/**
 * What clients send when they register, made into what the library accepts (RFC 7591). Only members that mean
 * something here are kept; whatever else a client sends is ignored, never an error.
 */
import type { JsonObject } from "../../adapters/contract.ts";
import { applicationType, permits, type Redirect, type RedirectPolicy, readRedirect } from "./redirects.ts";

/** RFC 7591 section 3.2.2. */
export interface RegistrationProblem {
  readonly error: "invalid_redirect_uri" | "invalid_client_metadata";
  readonly error_description: string;
}

const MAX_REDIRECTS = 10;
const MAX_NAME = 100;
const MAX_URI = 2_000;
const AUTH_METHODS: readonly unknown[] = ["none", "client_secret_basic", "client_secret_post"];
/** Shown nowhere (no remote images, no links of strangers), but echoed. */
const LINKS = ["client_uri", "logo_uri", "tos_uri", "policy_uri"] as const;
const GRANT_TYPES = ["authorization_code", "refresh_token"];

/** Normalises a registration request. */
export function normaliseRegistration(body: unknown, policy: RedirectPolicy): JsonObject | RegistrationProblem {
  if (!isObject(body)) return problem("invalid_client_metadata", "the request must be a JSON object");
  const redirects = redirectsOf(body["redirect_uris"], policy);
  if (!Array.isArray(redirects)) return redirects;
  const method = body["token_endpoint_auth_method"];
  return {
    ...described(body),
    ...answersTo(redirects),
    // Absent means client_secret_basic (RFC 7591 section 2); what we do not offer becomes that, too.
    token_endpoint_auth_method: AUTH_METHODS.includes(method) ? method : "client_secret_basic",
  };
}

/** Normalises a client id metadata document; its `client_id` was compared before. */
export function normaliseDocument(document: JsonObject, policy: RedirectPolicy): JsonObject | RegistrationProblem {
  const redirects = redirectsOf(document["redirect_uris"], policy);
  if (!Array.isArray(redirects)) return redirects;
  const { client_id, token_endpoint_auth_method: method = "none", jwks, jwks_uri } = document;
  if (method !== "none" && method !== "private_key_jwt") {
    return problem("invalid_client_metadata", "a client with a document shares no secret with anybody");
  }
  const keys = method === "private_key_jwt" ? { ...(jwks ? { jwks } : {}), ...(jwks_uri ? { jwks_uri } : {}) } : {};
  return {
    ...(client_id === undefined ? {} : { client_id }),
    ...described(document),
    ...answersTo(redirects),
    token_endpoint_auth_method: method,
    ...keys,
  };
}

/** A client's name without what could make it look like something else; undefined where nothing is left. */
export function plainName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const plain = name
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, "")
    .trim();
  return plain === "" ? undefined : [...plain].slice(0, MAX_NAME).join("");
}

function described(metadata: JsonObject): JsonObject {
  const name = plainName(metadata["client_name"]);
  const links = LINKS.flatMap((member) => {
    const value = metadata[member];
    const url =
      typeof value === "string" && value.length <= MAX_URI && URL.canParse(value) ? new URL(value) : undefined;
    return url?.protocol === "https:" ? [[member, url.href] as const] : [];
  });
  return { ...(name === undefined ? {} : { client_name: name }), ...Object.fromEntries(links) };
}

/**
 * A registered `scope` would be a ceiling: it breaks authorization requests and any later step up, and most clients
 * copy it from elsewhere. Consent decides instead.
 */
function answersTo(redirects: readonly Redirect[]): JsonObject {
  return {
    redirect_uris: redirects.map(({ uri }) => uri),
    application_type: applicationType(redirects),
    grant_types: [...GRANT_TYPES],
    response_types: ["code"],
  };
}

function redirectsOf(value: unknown, policy: RedirectPolicy): Redirect[] | RegistrationProblem {
  if (!Array.isArray(value) || value.length === 0) {
    return problem("invalid_redirect_uri", "redirect_uris must hold at least one URI");
  }
  if (value.length > MAX_REDIRECTS) return problem("invalid_redirect_uri", `at most ${MAX_REDIRECTS} redirect_uris`);
  const redirects: Redirect[] = [];
  for (const uri of value) {
    const redirect = readRedirect(uri);
    if ("problem" in redirect) return problem("invalid_redirect_uri", redirect.problem);
    if (!permits(policy, redirect)) {
      return problem("invalid_redirect_uri", `this server does not send answers to ${redirect.target}`);
    }
    redirects.push(redirect);
  }
  return redirects;
}

/** Whether normalising ended in a problem. */
export function isProblem(result: JsonObject | RegistrationProblem): result is RegistrationProblem {
  return typeof result["error"] === "string";
}

function problem(error: RegistrationProblem["error"], description: string): RegistrationProblem {
  return { error, error_description: description };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
