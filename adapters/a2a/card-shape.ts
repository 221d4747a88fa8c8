/**
 * Brings agent cards into the JSON of version 1.0, whatever they are written in: version 0.3, a mixture of both (agents
 * that serve clients of either), or the memory of the JavaScript SDK, whose server (1.3.0) sends its objects as they are.
 */
import type { JsonObject } from "../contract.ts";
import { arrayOf, isObject, objectOf, stringsOf, textOf } from "../http-request/json.ts";

/** Levels of nesting; a card has a dozen. */
const MAX_DEPTH = 64;

/** @throws RangeError for a card that is nested too deeply */
export function modernShape(raw: JsonObject): JsonObject {
  const card = objectOf(unwrapped(raw, 0));
  const schemes = Object.entries(objectOf(card["securitySchemes"])).map(([name, scheme]) => [name, schemeOf(scheme)]);
  const { supportsAuthenticatedExtendedCard: extended } = card;
  return {
    ...card,
    supportedInterfaces: interfacesOf(card),
    securitySchemes: Object.fromEntries(schemes),
    securityRequirements: card["securityRequirements"] ?? requirementsOf(card["security"]),
    capabilities: {
      ...(typeof extended === "boolean" ? { extendedAgentCard: extended } : {}),
      ...objectOf(card["capabilities"]),
    },
  };
}

/** A `oneof` as the SDK holds it, `{scheme: {$case: "x", value}}`, is `{x: value}` on the wire. */
function unwrapped(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
  if (Array.isArray(value)) return value.map((item) => unwrapped(item, depth + 1));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const wrapped = isObject(item) ? textOf(item["$case"]) : undefined;
    if (wrapped !== undefined && isObject(item)) return [wrapped, unwrapped(item["value"], depth + 1)];
    return [key, unwrapped(item, depth + 1)];
  });
  return Object.fromEntries(entries);
}

/** A2A 0.3, 5.6: the address at the top with its transport, and further ones. */
function interfacesOf(card: JsonObject): unknown[] {
  const listed = arrayOf(card["supportedInterfaces"]);
  const url = textOf(card["url"]);
  if (listed.length > 0 || url === undefined) return listed;
  const protocolVersion = textOf(card["protocolVersion"]) ?? "0.3";
  const first = { url, protocolBinding: textOf(card["preferredTransport"]) ?? "JSONRPC", protocolVersion };
  const more = arrayOf(card["additionalInterfaces"])
    .filter(isObject)
    .map((other) => ({ url: other["url"], protocolBinding: other["transport"], protocolVersion }));
  return [first, ...more];
}

/** 0.3 writes `type` beside a scheme's members; 1.0 puts them under a name of their kind. */
function schemeOf(scheme: unknown): unknown {
  if (!isObject(scheme) || typeof scheme["type"] !== "string") return scheme;
  const { type, in: location, ...members } = scheme;
  switch (type) {
    case "apiKey":
      return { apiKeySecurityScheme: { ...members, location } };
    case "http":
      return { httpAuthSecurityScheme: members };
    case "oauth2":
      return { oauth2SecurityScheme: members };
    case "openIdConnect":
      return { openIdConnectSecurityScheme: members };
    case "mutualTLS":
      return { mtlsSecurityScheme: members };
    default:
      return {};
  }
}

/** `security` of 0.3: alternatives, each a list of scopes by name. */
function requirementsOf(security: unknown): unknown[] {
  return arrayOf(security)
    .filter(isObject)
    .map((alternative) => ({
      schemes: Object.fromEntries(
        Object.entries(alternative).map(([name, scopes]) => [name, { list: stringsOf(scopes) }]),
      ),
    }));
}
