/** Where an operation is sent: its own servers, else those of its path, else those of the document. */
import type { JsonObject } from "../contract.ts";
import { arrayOf, isObject, objectOf, own, textOf } from "../http-request/json.ts";
import type { SpecVersion } from "./document.ts";

export interface ServerContext {
  root: JsonObject;
  version: SpecVersion;
  /** Where the document came from; relative servers start there. */
  specUrl: string | undefined;
  /** Values of server variables that the administrator chose. */
  variables: Readonly<Record<string, string>>;
}

/**
 * The URL that the path of an operation is appended to, without a slash at its end. A variable without a value stays
 * in it as `{name}`. Undefined where the document does not say, and no one knows where it came from.
 */
export function serverOf(context: ServerContext, pathItem: JsonObject, operation: JsonObject): string | undefined {
  if (context.version === "2.0") return hostOf(context, operation);
  const list = [operation["servers"], pathItem["servers"], context.root["servers"]].find(
    (servers) => Array.isArray(servers) && servers.some(isObject),
  );
  const server = objectOf(arrayOf(list).find(isObject));
  const template = textOf(server["url"]) ?? "/";
  const url = template.trim().replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = own(server["variables"], name);
    const chosen = own(context.variables, name) ?? own(variable, "default") ?? arrayOf(own(variable, "enum"))[0];
    return chosen === undefined || chosen === null ? whole : String(chosen);
  });
  return absolute(url, context.specUrl);
}

/** Swagger 2.0: `schemes`, `host` and `basePath`, each with that of the document's own address as default. */
function hostOf({ root, specUrl }: ServerContext, operation: JsonObject): string | undefined {
  const from = specUrl !== undefined && URL.canParse(specUrl) ? new URL(specUrl) : undefined;
  const host = textOf(root["host"]) || from?.host;
  if (host === undefined) return undefined;
  const listed = arrayOf(operation["schemes"] ?? root["schemes"]).filter((scheme) => typeof scheme === "string");
  const scheme = listed.length === 0 || listed.includes("https") ? "https" : listed[0];
  const base = (textOf(root["basePath"]) ?? "").replace(/\/$/, "");
  return absolute(`${scheme}://${host}${base === "" || base.startsWith("/") ? base : `/${base}`}`, specUrl);
}

function absolute(url: string, specUrl: string | undefined): string | undefined {
  // Braces are kept for the message that names them; as part of a host they would not parse.
  if (/\{[^{}]+\}/.test(url)) return /^https?:\/\//i.test(url) ? url.replace(/\/$/, "") : undefined;
  const base = specUrl !== undefined && URL.canParse(specUrl) ? specUrl : undefined;
  // `example.com/v1`: authors leave the scheme out.
  const whole = /^[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:\/|$)/.test(url) && base === undefined ? `https://${url}` : url;
  if (!URL.canParse(whole, base)) return undefined;
  const parsed = new URL(whole, base);
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return undefined;
  return parsed.href.replace(/\/$/, "");
}
