/** JSON with sorted keys and without blanks: equal values give equal text, whatever order they were written in. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (isPlain(item) ? sorted(item) : item)) ?? "null";
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sorted(value: Record<string, unknown>): Record<string, unknown> {
  // Without a prototype, so that a key `__proto__` stays a key.
  const result: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value).sort()) result[key] = value[key];
  return result;
}
