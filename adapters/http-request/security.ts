/** Which credential an operation is sent with: OR over the alternatives it names, AND inside each. */
import type { Credential, SingleCredential } from "../contract.ts";
import type { SchemePlan } from "./plan.ts";

export type Schemes = Readonly<Record<string, SchemePlan>>;

/** Fields of a form have no place in a request. */
type Placed = Exclude<Credential, { kind: "fields" }>;

/**
 * Picks what goes along with a request.
 *
 * Where the document says nothing, or knows no scheme that the credential would fit, the administrator's word counts
 * and the credential is sent as it is. An operation that says it takes nothing (`security: []`) gets nothing.
 *
 * @returns the credential to send, or the names of schemes that nobody gave one for
 */
export function chooseCredential(
  security: readonly (readonly string[])[] | undefined,
  schemes: Schemes,
  given: Credential | undefined,
): { send: Credential | undefined } | { missing: string[] } {
  const credential = given?.kind === "fields" ? undefined : given;
  if (security === undefined) return { send: credential };
  const demanding = security.filter((alternative) => alternative.length > 0);
  if (demanding.length === 0) return { send: undefined };
  if (credential !== undefined) {
    for (const alternative of demanding) {
      const found = alternative.map((name) => [name, fitting(name, schemes, credential)] as const);
      const all = found.filter((entry): entry is [string, SingleCredential] => entry[1] !== undefined);
      if (all.length < found.length) continue;
      if (credential.kind !== "several") return { send: credential };
      return { send: { kind: "several", schemes: Object.fromEntries(all) } };
    }
    if (credential.kind !== "several" && !Object.values(schemes).some((scheme) => fits(credential, scheme))) {
      return { send: credential };
    }
  }
  if (demanding.length < security.length) return { send: undefined };
  return { missing: [...new Set(demanding[0])] };
}

function fitting(name: string, schemes: Schemes, credential: Placed): SingleCredential | undefined {
  if (credential.kind === "several") {
    return Object.hasOwn(credential.schemes, name) ? credential.schemes[name] : undefined;
  }
  // A scheme that the document names and does not define is whatever the administrator set.
  if (!Object.hasOwn(schemes, name)) return credential;
  const scheme = schemes[name];
  return scheme !== undefined && fits(credential, scheme) ? credential : undefined;
}

function fits(credential: SingleCredential, scheme: SchemePlan): boolean {
  const isAuthorization = (name: string) => name.toLowerCase() === "authorization";
  switch (scheme.type) {
    case "apiKey":
      if (credential.kind === "bearer" || credential.kind === "basic") {
        return scheme.in === "header" && isAuthorization(scheme.name);
      }
      if (credential.kind !== scheme.in) return false;
      return credential.kind === "header"
        ? credential.name.toLowerCase() === scheme.name.toLowerCase()
        : credential.name === scheme.name;
    case "basic":
      return credential.kind === "basic" || (credential.kind === "header" && isAuthorization(credential.name));
    case "bearer":
      return credential.kind === "bearer" || (credential.kind === "header" && isAuthorization(credential.name));
    case "other":
      return credential.kind === "header" && isAuthorization(credential.name);
  }
}
