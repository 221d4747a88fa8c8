/** Who another server says somebody is. */

/** An identity as a provider vouches for it in one sign-in. */
export interface ExternalIdentity {
  /** Together with the subject it tells one identity from all others; addresses and logins change hands. */
  readonly issuer: string;
  readonly subject: string;
  /** How the provider calls them, to be shown: an address or a login. */
  readonly label: string;
  readonly name: string | undefined;
  /** Something short to make a username of. */
  readonly login: string | undefined;
  /** Only where the provider has verified it. */
  readonly email: string | undefined;
  /** Domains that vouch for this person, in lower case: those of verified addresses, unless the provider knows better. */
  readonly domains: readonly string[];
  readonly groups: readonly string[];
  /** What may become variables, by the provider's names. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The longest value of a variable. */
const LONGEST = 1_000;

/**
 * The variables that claims become: texts, numbers and booleans only, and the verified address as `email`.
 * @param wanted variable name to the provider's name of the claim
 */
export function claimVariables(
  { claims, email }: Pick<ExternalIdentity, "claims" | "email">,
  wanted: Readonly<Record<string, string>>,
): Record<string, string> {
  const variables: Record<string, string> = email === undefined ? {} : { email };
  for (const [name, claim] of Object.entries(wanted)) {
    const text = textOf(Object.hasOwn(claims, claim) ? claims[claim] : undefined);
    if (text !== undefined && text.length <= LONGEST) variables[name] = text;
  }
  return variables;
}

/** Texts of a claim that is one, or a list of them. */
export function textsOf(claim: unknown): string[] {
  return [claim].flat().flatMap((value) => textOf(value) ?? []);
}

/** A claim as a text; undefined where it is empty or something else. */
export function textOf(claim: unknown): string | undefined {
  if (typeof claim === "string") return claim === "" ? undefined : claim;
  return typeof claim === "number" || typeof claim === "boolean" ? String(claim) : undefined;
}

/** Domain of a mail address, in lower case; undefined where it is none. */
export function domainOf(email: string): string | undefined {
  return /^[^\s@]+@([^\s@]+)$/.exec(email)?.[1]?.toLowerCase();
}

/** The groups of a sign-in: those that the operator maps, or all where nothing is mapped. */
export function mappedGroups(named: readonly string[], map: Readonly<Record<string, string>> | undefined): string[] {
  if (map === undefined) return [...named];
  return named.flatMap((name) => (Object.hasOwn(map, name) ? (map[name] ?? []) : []));
}
