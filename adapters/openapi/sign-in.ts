/** Where a document says that one signs in to its service: OAuth 2.0 flows, OpenID Connect. */
import type { JsonObject, SignInPlace } from "../contract.ts";
import { isObject, objectOf, textOf } from "../http-request/json.ts";
import type { References } from "./references.ts";
import { declaredSchemes } from "./security-schemes.ts";

/** For a person at a browser, and for this deployment as itself. */
export interface SignInPlaces {
  code?: SignInPlace;
  client?: SignInPlace;
}

/** Names of the flows in 3.x and in Swagger 2.0. */
const FLOWS = { code: ["authorizationCode", "accessCode"], client: ["clientCredentials", "application"] } as const;

/** @param base what relative addresses are relative to */
export function signInPlacesOf(references: References, root: JsonObject, base: string | undefined): SignInPlaces {
  const schemes = Object.values(declaredSchemes(root))
    .map((value) => references.object(value))
    .filter((scheme) => scheme !== undefined);
  const code = placeOf(schemes, "code", base);
  const client = placeOf(schemes, "client", base);
  return { ...(code && { code }), ...(client && { client }) };
}

function placeOf(
  schemes: readonly JsonObject[],
  wants: keyof SignInPlaces,
  base: string | undefined,
): SignInPlace | undefined {
  for (const scheme of schemes.filter(({ type }) => type === "oauth2")) {
    const [modern, old] = FLOWS[wants];
    const own = scheme["flow"] === old ? scheme : undefined;
    const flow = own ?? objectOf(scheme["flows"])[modern];
    if (!isObject(flow)) continue;
    const scopes = Object.keys(objectOf(flow["scopes"]));
    const document = absolute(scheme["oauth2MetadataUrl"], base);
    if (document !== undefined) return { kind: "document", url: document, scopes };
    const tokenUrl = absolute(flow["tokenUrl"], base);
    const authorizationUrl = absolute(flow["authorizationUrl"], base);
    if (tokenUrl === undefined || (wants === "code" && authorizationUrl === undefined)) continue;
    const page = wants === "client" || authorizationUrl === undefined ? {} : { authorizationUrl };
    return { kind: "endpoints", ...page, tokenUrl, scopes };
  }
  for (const scheme of schemes.filter(({ type }) => type === "openIdConnect")) {
    const url = absolute(scheme["openIdConnectUrl"], base);
    if (url !== undefined) return { kind: "document", url, scopes: [] };
  }
  return undefined;
}

function absolute(given: unknown, base: string | undefined): string | undefined {
  const text = textOf(given)?.trim();
  if (text === undefined || text === "" || !URL.canParse(text, base)) return undefined;
  const { href, protocol } = new URL(text, base);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}
