/** Takes secrets out of what is about to be logged, by the structure of it: names of fields and forms of values. */

const REDACTED = "[redacted]";
const MAX_DEPTH = 8;
const MAX_ENTRIES = 100;
const MAX_TEXT = 4_096;

/** Endings of field names whose value is never logged; compared in lower case without `-` and `_`. */
const SECRET_NAMES = [
  "authorization",
  "cookie",
  "cookies",
  "token",
  "tokens",
  "secret",
  "secrets",
  "password",
  "passphrase",
  "packet",
  "credential",
  "credentials",
  "apikey",
  "privatekey",
  "masterkey",
  "assertion",
];

/** Our own tokens wherever they stand, whatever follows an authentication scheme, secrets in URLs and queries. */
const SECRET_FORMS: readonly [RegExp, string][] = [
  [/\bjkf_[a-z]{3}_[A-Za-z0-9_-]{20,}/g, "jkf_[redacted]"],
  [/\b(jackfield-pair\s*:\s*)[^\r\n"\\]+/gi, `$1${REDACTED}`],
  [/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]+@/gi, `$1${REDACTED}@`],
  [/([?&][\w.-]*(?:token|secret|password|key|code|assertion|signature)=)[^&\s#"']+/gi, `$1${REDACTED}`],
];

/** A text without the secrets that can be told by their form, cut to 4,096 characters. */
export function redactText(text: string): string {
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}... (${text.length} characters)` : text;
  return SECRET_FORMS.reduce((result, [form, replacement]) => result.replace(form, replacement), cut);
}

/** Whether the value of a field with this name is never to be logged. */
export function namesSecret(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, "");
  return SECRET_NAMES.some((ending) => plain.endsWith(ending));
}

/** A copy that may be logged: plain values only, bounded in depth and size, without secrets. */
export function redact(value: unknown): unknown {
  return copy(value, 0, []);
}

function copy(value: unknown, depth: number, above: readonly object[]): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (above.includes(value)) return "[circular]";
  if (depth >= MAX_DEPTH) return "[too deep]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  const path = [...above, value];
  if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map((item) => copy(item, depth + 1, path));
  const entries = value instanceof Error ? errorEntries(value) : Object.entries(value);
  return Object.fromEntries(
    entries.slice(0, MAX_ENTRIES).map(([name, item]) => {
      const hidden = namesSecret(name) && item !== undefined && item !== null && typeof item !== "boolean";
      return [name, hidden ? REDACTED : copy(item, depth + 1, path)];
    }),
  );
}

/** What an error says; not its other properties, which in drivers hold whole requests and bound values. */
function errorEntries(error: Error): [string, unknown][] {
  const entries: [string, unknown][] = [
    ["type", error.name],
    ["message", error.message],
  ];
  for (const name of ["code", "detail"] as const) {
    const value: unknown = Reflect.get(error, name);
    if (typeof value === "string") entries.push([name, value]);
  }
  entries.push(["stack", error.stack]);
  if (error.cause !== undefined) entries.push(["cause", error.cause]);
  return entries;
}
