/** What an upstream may ask the caller, and how its question reads to a person (design section 6, `asks`). */
import type { JsonObject, Question } from "../../../adapters/contract.ts";
import type { ServedConnection } from "../../connections/types.ts";

const ASKABLE = ["elicitation", "sampling", "roots"] as const;
const CAPABILITY_OF: Record<Question["method"], (typeof ASKABLE)[number]> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/**
 * The caller's client capabilities as far as this connection may know of them. Nothing but the three askable ones
 * passes: an extension that we do not speak (tasks) must not be promised to the upstream.
 */
export function permittedCapabilities(
  connection: ServedConnection,
  transparent: boolean,
  declared: JsonObject,
): JsonObject {
  const allowed =
    transparent || connection.asks === "all" ? ASKABLE : connection.asks === "elicitation" ? ASKABLE.slice(0, 1) : [];
  return Object.fromEntries(allowed.filter((name) => isObject(declared[name])).map((name) => [name, declared[name]]));
}

/** Undefined where the question may be put; else why not, in words for the caller. */
export function objection(
  connection: ServedConnection,
  permitted: JsonObject,
  question: JsonObject,
): string | undefined {
  const { method, params } = question;
  const capability = isQuestionMethod(method) ? CAPABILITY_OF[method] : undefined;
  if (!capability)
    return `${connection.label} asked something this server does not know (${String(method).slice(0, 60)}).`;
  const declared = permitted[capability];
  const mode = isObject(params) && params["mode"] === "url" ? "url" : "form";
  if (isObject(declared) && (capability !== "elicitation" || takesMode(declared, mode))) return undefined;
  const who = capability === "elicitation" ? "ask you something" : `use your client (${capability})`;
  return `${connection.label} wants to ${who}, which this client or connection does not allow. Do it in the service itself, or use a client that can be asked.`;
}

/** Outside a transparent endpoint a question names the connection, and an address to open shows its host. */
export function present(connection: ServedConnection, transparent: boolean, question: JsonObject): JsonObject {
  const { params } = question;
  if (transparent || question["method"] !== "elicitation/create" || !isObject(params)) return question;
  const message = typeof params["message"] === "string" ? params["message"] : "";
  const host = params["mode"] === "url" ? hostOf(params["url"]) : undefined;
  return {
    ...question,
    params: { ...params, message: `${connection.label}: ${message}${host ? ` (opens ${host})` : ""}` },
  };
}

/** Whether an answer says no: `decline` and `cancel` of an elicitation. */
export function isRefusal(answer: unknown): boolean {
  return isObject(answer) && (answer["action"] === "decline" || answer["action"] === "cancel");
}

/** `elicitation: {}` means form mode only (MCP 2025-11-25). */
function takesMode(declared: JsonObject, mode: "form" | "url"): boolean {
  if (mode === "url") return isObject(declared["url"]);
  return isObject(declared["form"]) || !isObject(declared["url"]);
}

function hostOf(url: unknown): string | undefined {
  return typeof url === "string" && URL.canParse(url) ? new URL(url).host : undefined;
}

const isQuestionMethod = (method: unknown): method is Question["method"] =>
  typeof method === "string" && Object.hasOwn(CAPABILITY_OF, method);
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
