/** What a card says about credentials, in the terms of the other HTTP services. */
import type { AgentCard, SecurityScheme } from "@a2a-js/sdk";
import { UpstreamError } from "../contract.ts";
import type { SchemePlan } from "../http-request/plan.ts";
import type { Schemes } from "../http-request/security.ts";

export interface CardSecurity {
  readonly schemes: Schemes;
  /** Alternatives, each a list of names that are all needed; undefined where the card says nothing. */
  readonly security: string[][] | undefined;
}

const MUTUAL_TLS = "mutual TLS";

/** @throws UpstreamError `authentication_required` where the agent takes client certificates only */
export function securityOf(card: AgentCard): CardSecurity {
  const schemes = Object.fromEntries(
    Object.entries(card.securitySchemes).map(([name, scheme]) => [name, schemeOf(scheme)]),
  );
  const alternatives = card.securityRequirements.map((requirement) => Object.keys(requirement.schemes ?? {}));
  if (alternatives.length === 0) return { schemes, security: undefined };
  const possible = alternatives.filter((names) => !names.some((name) => isMutualTls(schemes[name])));
  if (possible.length > 0) return { schemes, security: possible };
  throw new UpstreamError(
    "authentication_required",
    "The agent wants a client certificate (mutual TLS), which this server does not present. Ask who runs the agent for another scheme: an API key, HTTP authentication, OAuth 2.0 or OpenID Connect.",
    { processed: "no" },
  );
}

function isMutualTls(scheme: SchemePlan | undefined): boolean {
  return scheme?.type === "other" && scheme.what === MUTUAL_TLS;
}

function schemeOf({ scheme }: SecurityScheme): SchemePlan {
  switch (scheme?.$case) {
    case "apiKeySecurityScheme": {
      const { location, name } = scheme.value;
      const place = (["header", "query", "cookie"] as const).find((each) => each === location);
      return place === undefined
        ? { type: "other", what: `API key in ${location}` }
        : { type: "apiKey", in: place, name };
    }
    case "httpAuthSecurityScheme": {
      const http = scheme.value.scheme.toLowerCase();
      return http === "basic" || http === "bearer" ? { type: http } : { type: "other", what: `http ${http}` };
    }
    case "oauth2SecurityScheme":
    case "openIdConnectSecurityScheme":
      return { type: "bearer" };
    case "mtlsSecurityScheme":
      return { type: "other", what: MUTUAL_TLS };
    default:
      return { type: "other", what: "unknown" };
  }
}
