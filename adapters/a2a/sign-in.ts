/** Where a card, in the JSON of version 1.0, says that one signs in: OAuth 2.0 flows, OpenID Connect. */
import type { JsonObject, SignInPlace } from "../contract.ts";
import { isObject, objectOf, textOf } from "../http-request/json.ts";

/** @param wants `code`: a person signs in; `client`: this deployment authenticates as itself */
export function signInPlaceOf(card: JsonObject, wants: "code" | "client"): SignInPlace | undefined {
  const schemes = Object.values(objectOf(card["securitySchemes"])).filter(isObject);
  for (const scheme of schemes) {
    const place = oauthPlace(scheme, wants);
    if (place !== undefined) return place;
  }
  for (const scheme of schemes) {
    const url = textOf(objectOf(scheme["openIdConnectSecurityScheme"])["openIdConnectUrl"]);
    if (url !== undefined && url !== "") return { kind: "document", url, scopes: [] };
  }
  return undefined;
}

function oauthPlace(scheme: JsonObject, wants: "code" | "client"): SignInPlace | undefined {
  const oauth = objectOf(scheme["oauth2SecurityScheme"]);
  const flow = objectOf(oauth["flows"])[wants === "code" ? "authorizationCode" : "clientCredentials"];
  const scopes = Object.keys(objectOf(objectOf(flow)["scopes"]));
  const document = textOf(oauth["oauth2MetadataUrl"]);
  if (document !== undefined && document !== "") return { kind: "document", url: document, scopes };
  const { authorizationUrl, tokenUrl } = objectOf(flow);
  if (typeof tokenUrl !== "string" || tokenUrl === "") return undefined;
  if (wants === "client") return { kind: "endpoints", tokenUrl, scopes };
  return typeof authorizationUrl === "string" && authorizationUrl !== ""
    ? { kind: "endpoints", authorizationUrl, tokenUrl, scopes }
    : undefined;
}
