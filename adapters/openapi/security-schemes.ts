/** What a document says about credentials: where each goes, and which an operation wants. */
import type { JsonObject } from "../contract.ts";
import { arrayOf, isObject, objectOf, textOf } from "../http-request/json.ts";
import type { SchemePlan } from "../http-request/plan.ts";
import type { References } from "./references.ts";

/** Security schemes by name, as the document has them. */
export function declaredSchemes(root: JsonObject): JsonObject {
  return {
    ...objectOf(root["securityDefinitions"]),
    ...objectOf(objectOf(root["components"])["securitySchemes"]),
  };
}

/** Security schemes by name. */
export function schemesOf(references: References, root: JsonObject): Record<string, SchemePlan> {
  const entries = Object.entries(declaredSchemes(root)).flatMap(([name, value]): [string, SchemePlan][] => {
    const scheme = references.object(value);
    return scheme === undefined ? [] : [[name, schemeOf(scheme)]];
  });
  return Object.fromEntries(entries);
}

function schemeOf(scheme: JsonObject): SchemePlan {
  const type = String(scheme["type"]);
  const name = textOf(scheme["name"]);
  const place = (["header", "query", "cookie"] as const).find((each) => each === scheme["in"]);
  if (type === "apiKey" && name !== undefined && place !== undefined) return { type: "apiKey", in: place, name };
  if (type === "basic") return { type: "basic" };
  if (type === "oauth2" || type === "openIdConnect") return { type: "bearer" };
  if (type !== "http") return { type: "other", what: type };
  const http = String(scheme["scheme"]).toLowerCase();
  if (http === "basic" || http === "bearer") return { type: http };
  return { type: "other", what: `http ${http}` };
}

/** `<in> <name>` of every API key: what a credential sets is no argument. Names of headers in lower case. */
export function keyPlaces(schemes: Readonly<Record<string, SchemePlan>>): Set<string> {
  const keys = Object.values(schemes).flatMap((scheme) =>
    scheme.type === "apiKey"
      ? [`${scheme.in} ${scheme.in === "header" ? scheme.name.toLowerCase() : scheme.name}`]
      : [],
  );
  return new Set(keys);
}

/** Alternatives, each a list of names that are all needed; undefined where the document says nothing. */
export function securityOf(root: JsonObject, operation: JsonObject): string[][] | undefined {
  const given = operation["security"] ?? root["security"];
  if (!Array.isArray(given)) return undefined;
  return arrayOf(given)
    .filter(isObject)
    .map((alternative) => Object.keys(alternative));
}
