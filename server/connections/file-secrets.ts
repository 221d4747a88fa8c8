/**
 * A configuration file never holds a secret (design, section 8). What stands where a secret usually stands, or looks
 * like one, is refused; `${env:NAME}` names one, in the few places where one may be named.
 */
import { fieldName } from "../../adapters/pieces/auth.ts";
import type { Path } from "./yaml-file.ts";

/** `${env:NAME}`, wherever it stands in a value. */
const ENV_REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Names of headers, parameters and variables that carry secrets. */
const SECRET_NAME =
  /^(authorization|proxy-authorization|cookie|set-cookie)$|(^|[-_.])(api[-_]?key|apikey|access[-_]?key|private[-_]?key|secret|token|password|passwd|pwd|credentials?|pat|sig|signature|session)$/i;

/** Values that are secrets by their form: our own tokens, and those of services that mark theirs. */
const SECRET_VALUE =
  /\b(jkf_[a-z]{3}_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9_-]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+)|-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** Names of the environment variables that a text refers to. */
export function envReferences(value: string): string[] {
  return [...value.matchAll(ENV_REFERENCE)].map((match) => match[1] ?? "");
}

/**
 * Fills `${env:NAME}` in.
 * @returns the value, or the first name that is not set
 */
export function resolveEnv(
  value: string,
  env: Readonly<Record<string, string | undefined>>,
): { value: string } | { missing: string } {
  const missing = envReferences(value).find((name) => env[name] === undefined || env[name] === "");
  if (missing !== undefined) return { missing };
  return { value: value.replace(ENV_REFERENCE, (_whole, name: string) => env[name] ?? "") };
}

export interface SecretFinding {
  path: Path;
  message: string;
}

/** Everything in a connection's file that is, or looks like, a secret, or names one where none may be named. */
export function findSecrets(connection: unknown): SecretFinding[] {
  const findings: SecretFinding[] = [];
  walk(connection, ["connection"], findings);
  return findings;
}

function walk(value: unknown, path: Path, findings: SecretFinding[]): void {
  if (typeof value === "string") {
    const message = complaint(value, path);
    if (message !== undefined) findings.push({ path, message });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, item] of entries) walk(item, [...path, key], findings);
}

function complaint(value: string, path: Path): string | undefined {
  const [, section, name] = path.map(String);
  const last = String(path.at(-1));
  const inFields = section === "auth" && name === "fields";
  const inAuth =
    inFields || (section === "auth" && (last === "secret" || name === "clientId" || name === "privateKey"));
  const mayNameSecrets = inAuth || (section === "env" && path.length === 3);
  const isReference = envReferences(value).length > 0;
  if (isReference && !mayNameSecrets)
    return `\${env:NAME} is allowed in auth.secret (clientId, privateKey, fields) and in env only`;
  if (!isReference && value.includes(`\${env:`)) return `is not a reference of the form \${env:NAME}`;
  if (SECRET_VALUE.test(value)) return `looks like a secret; name it as \${env:NAME} where a secret may be named`;
  if (section === "headers" && name !== undefined && SECRET_NAME.test(name)) {
    return "a header that carries a secret does not belong in a file; use auth";
  }
  if (inFields && SECRET_NAME.test(fieldName(last)) && !isReference) {
    return `a secret does not belong in a file; name it as \${env:NAME}, or store it with credential set`;
  }
  if (section === "env" && name !== undefined && SECRET_NAME.test(name) && !isReference && value !== "") {
    return `a secret does not belong in a file; name it as \${env:NAME}`;
  }
  if (section === "command") return secretOfArgument(value);
  return section === "url" || section === "baseUrl" || section === "card" || section === "spec"
    ? secretOfUrl(value)
    : undefined;
}

function secretOfArgument(value: string): string | undefined {
  const option = /^--?([A-Za-z0-9-]+)=./.exec(value)?.[1];
  return option !== undefined && SECRET_NAME.test(option)
    ? `a secret does not belong in a command; give it through env as \${env:NAME}`
    : secretOfUrl(value);
}

function secretOfUrl(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined) return undefined;
  if (url.username !== "" || url.password !== "") return "a URL here holds no user and password; use auth";
  const secret = [...url.searchParams.keys()].find((key) => SECRET_NAME.test(key) || key.toLowerCase() === "key");
  return secret === undefined ? undefined : `the parameter ${secret} looks like a secret; use auth`;
}
