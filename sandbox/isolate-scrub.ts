/** Takes a credential out of everything that leaves the worker, in the forms in which services and SDKs echo one. */

/** Shorter values would be found in texts that have nothing to do with them. */
const SHORTEST = 6;
const SCRUBBED = "[secret]";
const DEEPEST = 256;
const MOST_PAIRED = 6;

export interface Scrub {
  text(text: string): string;
  /** JSON text to JSON text. Throws where the JSON is broken or nested deeper than 256 levels. */
  json(text: string): string;
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const plus = encodeURIComponent(secret).replaceAll("%20", "+");
  // JSON inside a text: a body that an error quotes.
  const quoted = JSON.stringify(secret).slice(1, -1);
  return [secret, quoted, encodeURIComponent(secret), plus, bytes.toString("base64"), bytes.toString("base64url")];
}

/** `user:password` of basic authentication (RFC 7617), whichever of the values are the two. */
function pairsOf(secrets: readonly string[]): string[] {
  const few = secrets.slice(0, MOST_PAIRED);
  return few.flatMap((user) => few.filter((password) => password !== user).map((password) => `${user}:${password}`));
}

/** @param secrets the credential's values */
export function createScrub(secrets: readonly string[]): Scrub {
  const known = [...secrets, ...pairsOf(secrets)].filter((secret) => secret.length >= SHORTEST);
  const forms = [...new Set(known.flatMap(formsOf))].sort((one, other) => other.length - one.length);
  const escaped = forms.map((form) => JSON.stringify(form).slice(1, -1));

  const text = (given: string): string => {
    let clean = given;
    for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, SCRUBBED);
    return clean;
  };

  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > DEEPEST) throw new RangeError("the result is nested too deep");
    if (Array.isArray(value)) return value.map((item: unknown) => walk(item, depth + 1));
    // fromEntries defines: a key `__proto__` stays a key.
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), walk(item, depth + 1)]));
  };

  return {
    text,
    json(given) {
      if (!escaped.some((form) => given.includes(form)) && depthOf(given) <= DEEPEST) return given;
      return JSON.stringify(walk(JSON.parse(given), 0));
    },
  };
}

/** How deep JSON is nested. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (quoted) {
      if (code === 0x5c) index++;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}
